/** The field of a widget: a list of what there is if the widget names a game, a state or a variable. */

import type { Editor } from "../editor/editor";
import type { Widget } from "../model/catalog";
import type { Json } from "../model/json";
import { choiceField } from "./choice_field";
import { control } from "./controls";

export function widgetField(
  editor: Editor,
  id: string,
  name: string,
  widget: Widget,
  value: Json | undefined,
): HTMLElement {
  const field = control(widget.schema, value, name, (next, isFinal) =>
    editor.setWidget(id, name, next, isFinal),
  );
  if (!widget.names || !(field instanceof HTMLInputElement)) return field;
  return choiceField(field, widget.schema.type === "array", () =>
    editor.games.choices(editor.workflow, editor.entry(id)!, widget.names),
  );
}
