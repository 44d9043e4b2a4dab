/** The part of the inspector about the inside of a box that is shown: its texts, its sockets, and the widgets on it. */

import type { Editor } from "../editor/editor";
import type { Part } from "../model/subgraphs";
import { parseSocketRef, type Subgraph } from "../model/workflow";
import { textArea, textField } from "./controls";
import { button, h, icon, iconButton } from "./dom";
import { showMessage } from "./overlay";

interface Sections {
  section(name: string, ...rows: (HTMLElement | null)[]): HTMLElement;
  /** A choice of the outputs that can be linked to an input. */
  source(id: string, socket: string, current: string, label: string): HTMLElement;
}

const ENDS: Readonly<Record<Part, string>> = {
  inputs: "feeds",
  outputs: "comes from",
  widgets: "sets",
  brains: "is the brain of",
};

export function insidePanel(editor: Editor, { section, source }: Sections): HTMLElement[] {
  const shown = editor.subgraph;
  if (!shown) return [];
  const { name, subgraph } = shown;
  const title = textField(
    subgraph.title ?? "",
    { "aria-label": "Title of the box", class: "field bare title" },
    (text, isFinal) => editor.setSubgraphKey("title", text || undefined, isFinal),
  );
  title.placeholder = name;
  const description = textArea(
    subgraph.description ?? "",
    {
      rows: "3",
      "aria-label": "Description of the box",
      placeholder: "What its nodes do together",
    },
    (text) => editor.setSubgraphKey("description", text || undefined, false),
    () => editor.document.endGesture(),
  );
  const users = editor.boxesOf(name);
  const others = users > 1 ? `, used by ${users} boxes, which all change` : "";
  const notice = partNotice(editor, name, subgraph);
  const part = (key: Part) => parts(editor, key, subgraph[key] ?? {});
  const border = `${editor.path}/:out`;
  const sources: Record<string, HTMLElement> = {};
  for (const [output, from] of Object.entries(editor.entry(border)?.in ?? {}))
    sources[output] = source(border, output, String(from), `output ${output}`);
  return [
    h(
      "header",
      {},
      title,
      h("p", { class: "muted" }, `Box, version ${subgraph.version ?? 1}${others}`),
    ),
    ...(notice ? [notice] : []),
    section("Description", description),
    section(
      "Inputs of the box",
      ...part("inputs"),
      h("small", {}, "Link an input of a node to “new_socket” of Inputs to add one."),
    ),
    section(
      "Outputs of the box",
      ...parts(editor, "outputs", subgraph.outputs ?? {}, sources),
      h("small", {}, "Another output comes from:"),
      source(border, "new_socket", "", "new output"),
    ),
    section(
      "Widgets on the box",
      ...part("widgets"),
      h("small", {}, "The button beside a widget of a node shows it on the box."),
    ),
    ...(subgraph.brains ? [section("Brains of the box", ...part("brains"))] : []),
  ];
}

/** Return a notice, with a button, if the part that a subgraph comes from has a newer version; else null. */
export function partNotice(editor: Editor, name: string, subgraph: Subgraph): HTMLElement | null {
  const part = editor.newerPart(subgraph);
  if (!part) return null;
  const stored = part.defs[part.part]?.version ?? 1;
  const text = `The part ${part.name} has version ${stored}; this copy is version ${subgraph.version ?? 1}.`;
  return h(
    "div",
    { class: "stack" },
    h("p", { class: "notice" }, icon("warn"), text),
    button("Update from the part", () => editor.updateFromPart(name), ""),
  );
}

/** Return a field for each name, to rename and to remove it. */
function parts(
  editor: Editor,
  part: Part,
  ends: Readonly<Record<string, string | readonly string[]>>,
  choices: Readonly<Record<string, HTMLElement>> = {},
): HTMLElement[] {
  return Object.entries(ends).map(([name, texts]) => {
    const field = textField(
      name,
      { "aria-label": `${part} ${name}`, class: "field" },
      (text, isFinal) => {
        if (!isFinal) return;
        const problem = editor.renamePart(part, name, text.trim());
        if (problem === null) return;
        showMessage(problem, "error");
        field.value = name;
      },
    );
    const remove = iconButton(
      "trash",
      `Take ${name} off the box`,
      () => editor.renamePart(part, name, null),
      { class: "small" },
    );
    const list = (typeof texts === "string" ? [texts] : texts).map((text) => {
      const end = parseSocketRef(text.replace(/\.\d+$/, ""));
      return end ? `${end.node}.${end.socket}` : text;
    });
    return h(
      "div",
      { class: "row" },
      h("div", { class: "row-head" }, field, remove),
      choices[name] ?? h("small", {}, `${ENDS[part]} ${list.join(", ") || "nothing"}`),
    );
  });
}
