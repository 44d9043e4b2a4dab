/** The corner of the canvas, with minimap and zoom. */

import { labelColour } from "../canvas/theme";
import type { Editor } from "../editor/editor";
import { h, iconButton } from "./dom";
import { Minimap } from "./minimap";
import { mainLabel } from "./palette";

export function minimapView(
  corner: HTMLElement,
  editor: Editor,
  drawn: () => void,
): { drawn(): void } {
  const canvas = h("canvas", { class: "minimap", "aria-hidden": "true" });
  const zoom = h("output", { "aria-label": "Zoom" });
  corner.append(
    canvas,
    h(
      "div",
      { class: "zoom" },
      h(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Zoom out",
          title: "Zoom out (−)",
          onclick: () => editor.board.zoom(1 / 1.2),
        },
        "−",
      ),
      zoom,
      iconButton("plus", "Zoom in (+)", () => editor.board.zoom(1.2)),
      iconButton("fit", "Show everything (F)", () => editor.board.fit()),
    ),
  );
  const colourOf = (id: string) => {
    const type = editor.typeOf(id);
    return labelColour(
      type ? mainLabel(type) : "any",
      document.documentElement.dataset.theme === "dark",
    );
  };
  const map = new Minimap(canvas, editor.board, colourOf);
  return {
    drawn: () => {
      zoom.textContent = `${Math.round(editor.board.view.scale * 100)} %`;
      map.draw();
      drawn();
    },
  };
}
