/** The search palette: type, choose with the arrow keys, and add the node with Enter. */

import type { DraggedLink } from "../board/events";
import { labelColour } from "../canvas/theme";
import type { Editor } from "../editor/editor";
import { labelIn, labelOf, type NodeType, typeBase } from "../model/catalog";
import type { Suggestion } from "../model/suggest";
import type { Point } from "../model/workflow";
import { h, icon } from "./dom";
import { openPopover } from "./overlay";

const SHOWN = 60;

/** Open the palette. A node that is chosen is put at `at`, or in a free place if it is null. */
export function openPalette(
  editor: Editor,
  at: Point | null,
  client: Point,
  dragged: DraggedLink | null,
): void {
  const input = h("input", {
    class: "palette-input",
    type: "text",
    placeholder: dragged ? "Search nodes that fit" : "Search nodes",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-label": "Search nodes",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = h("div", {
    id: "palette-list",
    class: "palette-list",
    role: "listbox",
    "aria-label": "Nodes",
  });
  const end = dragged ? editor.draggedEnd(dragged) : null;
  const hint =
    end &&
    h(
      "p",
      { class: "palette-hint" },
      swatch(labelIn(end.kind)),
      dragged!.side === "output" ? `takes ${end.kind}` : `gives ${end.kind}`,
    );
  const element = h(
    "div",
    { class: "palette", role: "dialog", "aria-label": "Add a node" },
    h("div", { class: "palette-head" }, icon("search"), input),
    hint,
    list,
  );
  let found: readonly Suggestion[] = [];
  let chosen = 0;

  const choose = (index: number) => {
    chosen = Math.max(0, Math.min(index, found.length - 1));
    for (const [i, row] of [...list.children].entries()) {
      row.setAttribute("aria-selected", String(i === chosen));
      if (i === chosen) row.scrollIntoView({ block: "nearest" });
    }
    input.setAttribute("aria-activedescendant", `palette-${chosen}`);
  };
  const accept = (suggestion: Suggestion | undefined) => {
    if (!suggestion) return;
    close();
    if (dragged && at) editor.addLinked(suggestion.type.type, suggestion.socket, at, dragged);
    else editor.add(suggestion.type.type, at);
    editor.board.element.focus({ preventScroll: true });
  };
  const search = () => {
    found = editor.suggestions(input.value, dragged).slice(0, SHOWN);
    list.replaceChildren(
      ...found.map((suggestion, i) => option(suggestion.type, i, () => accept(suggestion))),
    );
    if (found.length === 0) {
      const words = dragged ? "No matching node fits." : "There is no such node.";
      list.replaceChildren(h("p", { class: "empty" }, words));
    }
    choose(0);
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") accept(found[chosen]);
  });
  search();
  if (at) editor.board.showPendingLink(dragged, at);
  const close = openPopover(element, client, () => editor.board.showPendingLink(null, [0, 0]));
  input.focus();
}

function option(type: NodeType, index: number, onclick: () => void): HTMLElement {
  return h(
    "div",
    {
      id: `palette-${index}`,
      class: "palette-option",
      role: "option",
      onclick,
      data: { type: type.type },
    },
    swatch(mainLabel(type)),
    h("span", { class: "grow" }, h("b", {}, typeBase(type)), h("small", {}, type.summary)),
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
