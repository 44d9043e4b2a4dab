/** The context menus, and the popovers that edit a value on a node. */

import type { BrainInfo } from "../api";
import type { MenuTarget } from "../board/events";
import { type Command, keyText, toMenuItem } from "../editor/commands";
import type { Editor } from "../editor/editor";
import { isObject, own } from "../model/json";
import {
  type Box,
  brainFile,
  breakpointsOf,
  formatSocketRef,
  isCondition,
  modeOf,
  type Point,
  type SocketRef,
  styleOf,
} from "../model/workflow";
import { pasteByMenu } from "./actions";
import { colourMenu } from "./colour_menu";
import { control } from "./controls";
import { h } from "./dom";
import { addNote, editFrame } from "./frame_dialog";
import { type MenuItem, openMenu, openPopover, promptForText, showMessage } from "./overlay";
import { openPalette } from "./palette";
import { widgetField } from "./widget_field";

export function contextMenu(
  editor: Editor,
  commands: readonly Command[],
  target: MenuTarget,
  at: Point,
  client: Point,
): void {
  const command = (name: string) => toMenuItem(commands.find((each) => each.name === name)!);
  if (target.on === "node") {
    if (!editor.selection.includes(target.id)) editor.board.select([target.id]);
    openMenu(nodeItems(editor, command, target.id, client), client);
  } else if (target.on === "link") {
    openMenu(
      [
        { name: "Add a reroute", run: () => editor.reroute(target.link, at) },
        { name: "Pause at a value", run: () => void promptForBreakpoint(editor, target.link.from) },
        { name: "Take the wire out", danger: true, run: () => editor.unlink(target.link) },
      ],
      client,
    );
  } else if (target.on === "group") openMenu(groupItems(editor, target.index), client);
  else {
    openMenu(
      [
        { name: "Add a node", keys: "A", run: () => openPalette(editor, at, client, null) },
        { ...command("Add a note"), run: () => void addNote(editor, at) },
        { name: "Paste", keys: keyText("Mod+v"), run: () => void pasteByMenu(editor, at) },
        null,
        command("Undo"),
        command("Redo"),
        command("Select all"),
        command("Show everything"),
        null,
        command("Save a picture of the workflow"),
        command("Save a picture of the game"),
      ],
      client,
    );
  }
}

/** Ask for the condition on which an output pauses the run. */
async function promptForBreakpoint(editor: Editor, output: SocketRef): Promise<void> {
  const name = formatSocketRef(output);
  const before = breakpointsOf(editor.workflow).get(name) ?? "< 0";
  const condition = await promptForText(
    `Pause when ${name} is`,
    "Condition",
    before,
    "Set breakpoint",
  );
  if (condition === null) return;
  if (isCondition(condition)) editor.setBreakpoint(output, condition);
  else
    showMessage(
      `“${condition}” is not a condition. Write < 0, >= 0.5, == true or == "jump".`,
      "error",
    );
}

function nodeItems(
  editor: Editor,
  command: (name: string) => MenuItem,
  id: string,
  client: Point,
): (MenuItem | null)[] {
  const { collapsed } = styleOf(editor.workflow, id);
  const entry = editor.entry(id)!;
  const isRegister = editor.typeOf(id)?.register === true;
  const mode = modeOf(entry);
  const hasWhen = entry.when !== undefined;
  return [
    { ...command("Copy"), keys: keyText("Mod+c") },
    command("Duplicate"),
    null,
    { ...command("Mute"), name: mode === "mute" ? "Unmute" : "Mute" },
    { ...command("Bypass"), name: mode === "bypass" ? "End bypass" : "Bypass" },
    ...(isRegister
      ? []
      : [
          {
            name: hasWhen ? "Remove the “when” input" : "Add a “when” input",
            run: () => editor.setKey(id, "when", hasWhen ? undefined : null),
          },
        ]),
    null,
    { ...command("Collapse or expand"), name: collapsed ? "Expand" : "Collapse" },
    { ...command("Colour"), run: () => colourMenu(editor, client) },
    null,
    command("Make a box"),
    ...(editor.isBox(id)
      ? [command("Open the box"), command("Unpack the box"), command("Save the box as a part")]
      : []),
    command("Group"),
    command("Align left"),
    command("Align top"),
    {
      name: "Distribute across",
      disabled: editor.selection.length < 3,
      run: () => editor.distribute("x"),
    },
    null,
    { ...command("Delete"), danger: true },
  ];
}

function groupItems(editor: Editor, index: number): (MenuItem | null)[] {
  const inside = editor.inGroup(index);
  const all = (mode: "mute" | "bypass") =>
    inside.length > 0 && inside.every((id) => modeOf(editor.entry(id)!) === mode);
  return [
    { name: "Title, text and colour", run: () => void editFrame(editor, index) },
    {
      name: "Select its nodes",
      disabled: inside.length === 0,
      run: () => editor.board.select(inside),
    },
    {
      name: all("mute") ? "Unmute its nodes" : "Mute its nodes",
      disabled: inside.length === 0,
      run: () => editor.toggleMode("mute", inside),
    },
    {
      name: all("bypass") ? "End bypass of its nodes" : "Bypass its nodes",
      disabled: inside.length === 0,
      run: () => editor.toggleMode("bypass", inside),
    },
    null,
    { name: "Remove the frame", danger: true, run: () => editor.editGroup(index, null) },
  ];
}

/** Edit a widget or brain directly on the node. */
export function editPart(
  editor: Editor,
  brains: readonly BrainInfo[],
  id: string,
  part: { part: "widget"; name: string } | { part: "brain" },
  client: Box,
): void {
  const entry = editor.entry(id)!;
  const type = editor.typeOf(id);
  if (part.part === "brain") {
    const fitting = brains.filter((brain) => brain.kind === type?.brain?.kind);
    openMenu(
      [
        ...fitting.map((brain) => ({
          name: brain.file,
          detail: brain.title ?? "",
          isChosen: brain.file === brainFile(entry),
          run: () => editor.setKey(id, "brain", brain.file),
        })),
        ...(fitting.length ? [null] : []),
        {
          name: "No brain",
          disabled: entry.brain === undefined,
          run: () => editor.setKey(id, "brain", undefined),
        },
      ],
      client,
    );
    return;
  }
  const widget = own(type?.widgets, part.name);
  const set = isObject(entry.set) ? entry.set : {};
  const value = Object.hasOwn(set, part.name) ? set[part.name] : widget?.default;
  const schema = widget?.schema ?? {};
  if (Array.isArray(schema.enum)) {
    openMenu(
      schema.enum.map((option) => ({
        name: String(option),
        run: () => editor.setWidget(id, part.name, option, true),
      })),
      client,
    );
    return;
  }
  if (schema.type === "boolean") {
    editor.setWidget(id, part.name, value !== true, true);
    return;
  }
  const field = widget
    ? widgetField(editor, id, part.name, widget, value)
    : control(schema, value, part.name, (next, isFinal) =>
        editor.setWidget(id, part.name, next, isFinal),
      );
  const box = h(
    "div",
    { class: "editing stack" },
    h("span", { class: "label" }, part.name),
    field,
    h("small", {}, widget?.doc ?? ""),
  );
  const input = box.querySelector<HTMLElement>("input, select, textarea")!;
  if (widget?.names) input.click(); // opens the list
  const close = openPopover(box, client, () => editor.document.endGesture());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.tagName !== "TEXTAREA") close();
  });
  input.focus();
  if (input instanceof HTMLInputElement && input.type !== "checkbox") input.select();
}
