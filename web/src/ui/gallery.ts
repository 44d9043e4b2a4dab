/** The gallery of shipped workflows. */

import { api } from "../api";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import { h } from "./dom";
import { count } from "./inspector";
import { drawMap } from "./minimap";
import { showMessage } from "./overlay";

const MAP = [264, 112] as const;

/** Return the name of the workflow of which this is a variant: `sf2` for `sf2_realtime`. */
const family = (name: string) => name.split("_", 1)[0]!;

export async function openGallery(editor: Editor, files: Files): Promise<void> {
  let names: readonly string[];
  try {
    names = await api.templates();
  } catch (error) {
    return showMessage((error as Error).message, "error");
  }
  const loaded = await Promise.all(
    names.map(async (name) => ({ name, workflow: await api.template(name).catch(() => null) })),
  );
  const templates = loaded.flatMap(({ name, workflow }) =>
    workflow ? [{ name, workflow, nodes: Object.keys(workflow.nodes).length }] : [],
  );
  const size = new Map(templates.map(({ name, nodes }) => [name, nodes]));
  const sizeOfFamily = (name: string) => size.get(family(name)) ?? 0;
  // large agents first, then the tools, of which none is the original; a workflow and its variants
  // stay together, in the server's order
  templates.sort((one, other) => sizeOfFamily(other.name) - sizeOfFamily(one.name));
  const element = h("dialog", {
    class: "dialog gallery",
    tabindex: "-1",
    "aria-label": "Start with a workflow",
  });
  const close = () => element.close();
  const empty = h(
    "button",
    {
      type: "button",
      class: "card blank",
      data: { template: "" },
      onclick: () => {
        close();
        void files.create();
      },
    },
    h("span", { class: "map" }, h("span", { class: "plus" }, "+")),
    h("b", {}, "Empty canvas"),
    h("small", {}, "Double click to add the first node."),
  );
  const cards = templates.map(({ name, workflow, nodes }) => {
    const map = h("canvas", { class: "map", "aria-hidden": "true" });
    drawMap(map, workflow, editor.catalog, ...MAP);
    const open = () => {
      close();
      void files.openTemplate(name);
    };
    return h(
      "button",
      { type: "button", class: "card", data: { template: name }, onclick: open },
      map,
      h("b", {}, workflow.title || name),
      h("small", {}, workflow.description ?? ""),
      h("small", { class: "muted" }, count(nodes, "node")),
    );
  });
  element.append(
    h(
      "header",
      {},
      h(
        "div",
        {},
        h("h2", {}, "Start with a workflow"),
        h(
          "p",
          { class: "muted" },
          "Each of them runs as it is. Open one, press Run, then change it.",
        ),
      ),
      h(
        "button",
        { type: "button", class: "button quiet", onclick: close },
        h("span", {}, "Close"),
      ),
    ),
    h("div", { class: "cards" }, ...cards, empty),
  );
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  element.focus();
}
