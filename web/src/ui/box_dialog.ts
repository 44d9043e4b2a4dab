/** The dialog that makes a box. */

import type { Editor } from "../editor/editor";
import { promptForText } from "./overlay";

/** Ask for a title, and put the selected nodes into a box. */
export async function promptForBox(editor: Editor): Promise<void> {
  if (editor.selection.length === 0) return;
  const title = await promptForText(
    "Put the selected nodes into a box",
    "Title",
    "Box",
    "Make a box",
  );
  if (title !== null) editor.makeBox(title.trim() || "Box");
}
