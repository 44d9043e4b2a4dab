/** The dialog for a frame on the canvas, which is a group or a note: its title, its text, its colour. */

import type { Editor } from "../editor/editor";
import { COLOURS, type Colour, type Group, type Point } from "../model/workflow";
import { h } from "./dom";
import { openDialog } from "./overlay";

type Frame = Omit<Group, "bounds">;

/** Add a note with its upper left corner at a point, or in a free place. */
export async function addNote(editor: Editor, at: Point | null): Promise<void> {
  const frame = await promptForFrame("Add a note", { title: "Note", text: "", colour: null });
  if (frame) editor.addNote(frame, at);
}

export async function editFrame(editor: Editor, index: number): Promise<void> {
  const before = editor.groups.find((group) => group.index === index);
  const frame =
    before && (await promptForFrame(before.text ? "Edit the note" : "Edit the group", before));
  if (frame) editor.editGroup(index, frame);
}

/** Ask for the contents of a frame. Resolves to null if it is to stay as it is. */
async function promptForFrame(
  heading: string,
  { title, text, colour }: Frame,
): Promise<Frame | null> {
  const titleField = h("input", { class: "field", value: title, "aria-label": "Title" });
  const textField = h("textarea", {
    class: "field",
    rows: 6,
    value: text,
    "aria-label": "Text",
    autofocus: true,
  });
  const colourField = h(
    "select",
    { class: "field", "aria-label": "Colour" },
    ...["", ...COLOURS].map((name) =>
      h("option", { value: name, selected: name === (colour ?? "") }, name || "none"),
    ),
  );
  const field = (label: string, input: HTMLElement) =>
    h("label", { class: "stack" }, h("span", { class: "label" }, label), input);
  const answer = await openDialog(
    heading,
    [field("Title", titleField), field("Text", textField), field("Colour", colourField)],
    [
      { name: "Cancel", value: "", kind: "quiet" },
      { name: "Done", value: "done", kind: "primary" },
    ],
    "narrow",
  );
  if (answer !== "done") return null;
  const chosen = (colourField.value || null) as Colour | null;
  return { title: titleField.value.trim(), text: textField.value.trimEnd(), colour: chosen };
}
