/** The search palette: type, choose with the arrow keys, and add the node with Enter. */

import type { DraggedLink } from "../board/events";
import { labelColour } from "../canvas/theme";
import type { Editor } from "../editor/editor";
import { labelIn, labelOf, type NodeType, typeBase } from "../model/catalog";
import type { Suggestion } from "../model/suggest";
import type { Point } from "../model/workflow";
import { h } from "./dom";
import { openPopover } from "./overlay";
import { SearchList } from "./search_list";

const SHOWN = 60;

/** Open the palette. A node that is chosen is put at `at`, or in a free place if it is null. */
export function openPalette(
  editor: Editor,
  at: Point | null,
  client: Point,
  dragged: DraggedLink | null,
): void {
  const end = dragged ? editor.draggedEnd(dragged) : null;
  const hint =
    end &&
    h(
      "p",
      { class: "palette-hint" },
      swatch(labelIn(end.kind)),
      dragged!.side === "output" ? `takes ${end.kind}` : `gives ${end.kind}`,
    );
  const search = new SearchList<Suggestion>("palette", {
    name: "Nodes",
    label: "Search nodes",
    placeholder: dragged ? "Search nodes that fit" : "Search nodes",
    empty: dragged ? "No matching node fits." : "There is no such node.",
    find: (query) => editor.suggestions(query, dragged).slice(0, SHOWN),
    row: ({ type, game }) => row(type, game),
    accept({ type: { type }, socket, game }) {
      close();
      if (dragged && at) editor.addLinked(type, socket, at, dragged);
      else editor.add(type, at, game === undefined ? undefined : { game });
      editor.board.element.focus({ preventScroll: true });
    },
  });
  const element = h(
    "div",
    { class: "palette", role: "dialog", "aria-label": "Add a node" },
    search.head,
    hint,
    search.list,
  );
  if (at) editor.board.showPendingLink(dragged, at);
  const close = openPopover(element, client, () => editor.board.showPendingLink(null, [0, 0]));
  search.input.focus();
}

function row(type: NodeType, game: string | undefined): HTMLElement {
  const about = game === undefined ? type.summary : `A ${typeBase(type)} with this game`;
  return h(
    "div",
    { data: { type: type.type } },
    swatch(mainLabel(type)),
    h("span", { class: "grow" }, h("b", {}, game ?? typeBase(type)), h("small", {}, about)),
    h("small", { class: "category" }, type.category),
  );
}

/** Return the label that gives a node its colour: that of its first output, or else of its first input. */
export function mainLabel(type: NodeType): string {
  return labelOf(Object.values(type.outputs)[0] ?? Object.values(type.inputs)[0]);
}

export function swatch(label: string): HTMLElement {
  const dot = h("i", { class: "swatch", "aria-hidden": "true" });
  dot.style.background = labelColour(label, document.documentElement.dataset.theme === "dark");
  return dot;
}
