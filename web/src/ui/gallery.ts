/** The gallery: the workflows that were saved here, and the shipped ones. */

import { api } from "../api";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import { stem, type Workflow } from "../model/workflow";
import { h } from "./dom";
import { count } from "./inspector";
import { drawMap } from "./minimap";
import { showMessage } from "./overlay";

const MAP = [264, 112] as const;
/** Number of saved workflows that are shown, the latest ones. */
const MOST_SAVED = 24;

interface Entry {
  readonly name: string;
  readonly workflow: Workflow;
  readonly nodes: number;
  /** The address of its picture; null: a map of the graph is drawn. */
  readonly picture: string | null;
}

/** Return the name of the workflow of which this is a variant: `sf2` for `sf2_realtime`. */
const family = (name: string) => name.split("_", 1)[0]!;

export async function openGallery(editor: Editor, files: Files): Promise<void> {
  let saved: readonly Entry[];
  let templates: readonly Entry[];
  try {
    [saved, templates] = await Promise.all([loadSaved(), loadTemplates()]);
  } catch (error) {
    return showMessage((error as Error).message, "error");
  }
  const element = h("dialog", {
    class: "dialog gallery",
    tabindex: "-1",
    "aria-label": "Start with a workflow",
  });
  const close = () => element.close();
  const choose = (open: () => Promise<void>) => () => {
    close();
    void open();
  };
  const empty = h(
    "button",
    {
      type: "button",
      class: "card blank",
      data: { template: "" },
      onclick: choose(() => files.create()),
    },
    h("span", { class: "map" }, h("span", { class: "plus" }, "+")),
    h("b", {}, "Empty canvas"),
    h("small", {}, "Double click to add the first node."),
  );
  const cards = (entries: readonly Entry[], key: string, open: (name: string) => Promise<void>) =>
    entries.map((entry) =>
      h(
        "button",
        {
          type: "button",
          class: "card",
          data: { [key]: entry.name },
          onclick: choose(() => open(entry.name)),
        },
        cardPicture(editor, entry),
        h("b", {}, entry.workflow.title || stem(entry.name)),
        h("small", {}, entry.workflow.description ?? ""),
        h("small", { class: "muted" }, `${stem(entry.name)}, ${count(entry.nodes, "node")}`),
      ),
    );
  const yours = cards(saved, "saved", (name) => files.open(name));
  const examples = cards(templates, "template", (name) => files.openTemplate(name));
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
          "Each of the examples runs as it is. Open one, press Run, then change it.",
        ),
      ),
      h(
        "button",
        { type: "button", class: "button quiet", onclick: close },
        h("span", {}, "Close"),
      ),
    ),
    h(
      "div",
      { class: "shelves" },
      yours.length ? shelf("Yours", yours) : null,
      shelf("Examples", [empty, ...examples]),
    ),
  );
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  element.focus();
}

/** Close the gallery, if it is open. */
export const closeGallery = (): void =>
  document.querySelector<HTMLDialogElement>("dialog.gallery")?.close();

const shelf = (title: string, cards: readonly HTMLElement[]) =>
  h("section", { "aria-label": title }, h("h3", {}, title), h("div", { class: "cards" }, ...cards));

function cardPicture(editor: Editor, { workflow, picture }: Entry): HTMLElement {
  if (picture !== null) return h("img", { class: "map", src: picture, alt: "" });
  const map = h("canvas", { class: "map", "aria-hidden": "true" });
  drawMap(map, workflow, editor.catalog, ...MAP);
  return map;
}

const entryOf = (name: string, workflow: Workflow | undefined, picture: string | null): Entry[] =>
  workflow ? [{ name, workflow, nodes: Object.keys(workflow.nodes).length, picture }] : [];

/** Load the saved workflows, the latest first, without those that cannot be read. */
async function loadSaved(): Promise<readonly Entry[]> {
  const files = [...(await api.files())].sort((one, other) => other.modified - one.modified);
  const loaded = await Promise.all(
    files.slice(0, MOST_SAVED).map(async ({ path, picture }) => {
      const opened = await api.open(path).catch(() => null);
      return entryOf(path, opened?.workflow, picture ? api.pictureOf(path) : null);
    }),
  );
  return loaded.flat();
}

/** Load the shipped workflows: large agents first, then the tools, of which none is the original. */
async function loadTemplates(): Promise<readonly Entry[]> {
  const loaded = await Promise.all(
    (await api.templates()).map(async (name) =>
      entryOf(name, await api.template(name).catch(() => undefined), null),
    ),
  );
  const templates = loaded.flat();
  const size = new Map(templates.map(({ name, nodes }) => [name, nodes]));
  const sizeOfFamily = (name: string) => size.get(family(name)) ?? 0;
  // a workflow and its variants stay together, in the server's order
  return templates.sort((one, other) => sizeOfFamily(other.name) - sizeOfFamily(one.name));
}
