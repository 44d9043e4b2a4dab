/** The menu with the colours of nodes and groups. */

import type { Editor } from "../editor/editor";
import { COLOURS, type Point, styleOf } from "../model/workflow";
import { openMenu } from "./overlay";

/** Choose a colour for the selected nodes and groups. */
export function colourMenu(editor: Editor, client: Point): void {
  const [first] = editor.selection;
  const now = first === undefined ? null : styleOf(editor.workflow, first).colour;
  openMenu(
    [null, ...COLOURS].map((colour) => ({
      name: colour ?? "none",
      isChosen: colour === now,
      run: () => editor.setColour(colour),
    })),
    client,
  );
}
