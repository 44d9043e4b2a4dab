/** The commands of the page, with their keys. */

import type { Command } from "../editor/commands";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import type { Session } from "../editor/session";
import { isLive } from "../live/run";
import type { Point } from "../model/workflow";
import { dismissPopover, say } from "./overlay";
import type { Panel } from "./panel";

export interface Places {
  help(): void;
  theme(): void;
  gallery(): void;
  palette(): void;
  readonly panel: Panel;
}

const STEP = 8;

export function makeCommands(editor: Editor, session: Session, files: Files, places: Places): Command[] {
  const { document: doc, board } = editor;
  const none = () => editor.selection.length === 0;
  const fewer = (n: number) => () => editor.selection.length < n;
  const live = () => isLive(session.run);
  watchClipboard(editor);
  const moves = [
    ["ArrowLeft", -STEP, 0],
    ["ArrowRight", STEP, 0],
    ["ArrowUp", 0, -STEP],
    ["ArrowDown", 0, STEP],
  ] as const;
  addEventListener("keydown", (event) => {
    const move = moves.find(([key]) => key === event.key);
    if (!move || event.target !== board.element || none()) return;
    event.preventDefault();
    editor.nudge(move[1], move[2]);
  });
  return [
    { name: "Run", section: "Run", keys: ["Mod+Enter"], everywhere: true, isOff: live, run: () => void session.start() },
    {
      name: "Stop",
      section: "Run",
      keys: ["Mod+."],
      everywhere: true,
      isOff: () => !live(),
      run: () => void session.steer("stop"),
    },
    {
      name: "Pause or resume",
      section: "Run",
      keys: ["p"],
      isOff: () => !live(),
      run: () => void session.steer(session.run?.state === "paused" ? "resume" : "pause"),
    },
    {
      name: "Play, with keys or gamepad",
      section: "Run",
      keys: ["g"],
      isOff: () => !live() || session.pads.length === 0,
      run: () => session.play(true),
    },
    { name: "Save", section: "Files", keys: ["Mod+s"], everywhere: true, run: () => void files.save() },
    { name: "Save as", section: "Files", keys: ["Mod+Shift+s"], everywhere: true, run: () => void files.save(true) },
    { name: "Open", section: "Files", keys: ["Mod+o"], everywhere: true, run: () => places.panel.show("files") },
    { name: "Examples", section: "Files", keys: [], run: places.gallery },
    { name: "Undo", section: "Edit", keys: ["Mod+z"], isOff: () => !doc.canUndo, run: () => doc.undo() },
    { name: "Redo", section: "Edit", keys: ["Mod+Shift+z", "Mod+y"], isOff: () => !doc.canRedo, run: () => doc.redo() },
    { name: "Select all", section: "Edit", keys: ["Mod+a"], run: () => board.select(Object.keys(editor.workflow.nodes)) },
    { name: "Duplicate", section: "Edit", keys: ["Mod+d"], isOff: none, run: () => editor.duplicate() },
    {
      name: "Delete",
      section: "Edit",
      keys: ["Delete", "Backspace"],
      isOff: () => none() && board.selectedGroups.length === 0,
      run: () => editor.remove(),
    },
    { name: "Copy", section: "Edit", keys: [], isOff: none, run: () => copyByMenu(editor) },
    { name: "Add a node", section: "Nodes", keys: ["a", " "], run: places.palette },
    {
      name: "Mute",
      section: "Nodes",
      keys: ["m"],
      isOff: () => none() && board.selectedGroups.length === 0,
      run: () => editor.toggleMode("mute"),
    },
    {
      name: "Bypass",
      section: "Nodes",
      keys: ["b"],
      isOff: () => none() && board.selectedGroups.length === 0,
      run: () => editor.toggleMode("bypass"),
    },
    { name: "Group", section: "Nodes", keys: ["Mod+g"], isOff: none, run: () => editor.group() },
    { name: "Align left", section: "Nodes", keys: ["Alt+ArrowLeft"], isOff: fewer(2), run: () => editor.align("left") },
    { name: "Align top", section: "Nodes", keys: ["Alt+ArrowUp"], isOff: fewer(2), run: () => editor.align("top") },
    { name: "Show everything", section: "View", keys: ["f"], run: () => board.fit() },
    { name: "Show the selection", section: "View", keys: ["Shift+f"], isOff: none, run: () => board.fit(editor.selection) },
    { name: "Zoom in", section: "View", keys: ["+", "="], run: () => board.zoom(1.2) },
    { name: "Zoom out", section: "View", keys: ["-"], run: () => board.zoom(1 / 1.2) },
    {
      name: "List of nodes",
      section: "View",
      keys: ["l"],
      run: () => places.panel.show(places.panel.tab === "list" ? null : "list"),
    },
    { name: "Runs", section: "View", keys: ["r"], run: () => places.panel.show(places.panel.tab === "runs" ? null : "runs") },
    { name: "Dark or light", section: "View", keys: ["Shift+t"], run: places.theme },
    { name: "Keys and help", section: "View", keys: ["?"], run: places.help },
    {
      name: "Deselect",
      section: "View",
      keys: ["Escape"],
      run: () => {
        dismissPopover();
        board.select([]);
      },
    },
  ];
}

const isTyping = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");

/** The browser's own copy and paste, so that nodes go from tab to tab. They are pasted at the pointer, if it is over the canvas. */
function watchClipboard(editor: Editor): void {
  const { board } = editor;
  let pointer: Point | null = null;
  board.element.addEventListener("pointermove", ({ clientX, clientY }) => (pointer = [clientX, clientY]));
  board.element.addEventListener("pointerleave", () => (pointer = null));
  const take = (event: ClipboardEvent): boolean => {
    const text = isTyping() || document.getSelection()?.isCollapsed === false ? null : editor.copy();
    if (text === null) return false;
    event.clipboardData!.setData("text/plain", text);
    event.preventDefault();
    return true;
  };
  addEventListener("copy", take);
  addEventListener("cut", (event) => {
    if (take(event)) editor.remove();
  });
  addEventListener("paste", (event) => {
    if (isTyping()) return;
    if (editor.paste(event.clipboardData?.getData("text/plain") ?? "", pointer && board.fromClient(pointer)))
      event.preventDefault();
  });
}

function copyByMenu(editor: Editor): void {
  const text = editor.copy();
  if (text) void navigator.clipboard?.writeText(text).catch(() => undefined);
}

/** From the system's clipboard if the browser lets us, else what was copied here. */
export async function pasteByMenu(editor: Editor, at: Point): Promise<void> {
  const text = await navigator.clipboard?.readText().catch(() => "");
  if (!editor.paste(text || "", at) && !editor.paste(editor.copied, at)) say("There are no nodes in the clipboard.");
}
