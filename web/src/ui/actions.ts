/** The commands of the page, with their keys. */

import type { Command } from "../editor/commands";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import type { Parts } from "../editor/parts";
import type { Pictures } from "../editor/pictures";
import type { Session } from "../editor/session";
import { isActive, isUnfinished } from "../live/run";
import type { Point } from "../model/workflow";
import { promptForBox } from "./box_dialog";
import { colourMenu } from "./colour_menu";
import { addNote } from "./frame_dialog";
import { closePopover, showMessage } from "./overlay";
import type { Panel } from "./panel";

export interface CommandContext {
  help(): void;
  theme(): void;
  gallery(): void;
  sweep(): void;
  palette(): void;
  /** Open the list of all commands. */
  commands(): void;
  /** Show or hide the values of the selected node. */
  values(): void;
  /** Show the values of the selected node, if they are hidden. */
  showValues(): void;
  readonly panel: Panel;
  readonly parts: Parts;
  readonly pictures: Pictures;
}

const STEP = 8;
const WIDTH_STEP = 48;

export function makeCommands(
  editor: Editor,
  session: Session,
  files: Files,
  context: CommandContext,
): Command[] {
  const { document: doc, board } = editor;
  const nothingSelected = () => editor.selection.length === 0;
  const fewerThan = (n: number) => () => editor.selection.length < n;
  const isRunning = () => isUnfinished(session.run);
  watchClipboard(editor);
  const moves = [
    ["ArrowLeft", -STEP, 0],
    ["ArrowRight", STEP, 0],
    ["ArrowUp", 0, -STEP],
    ["ArrowDown", 0, STEP],
  ] as const;
  addEventListener("keydown", (event) => {
    const move = moves.find(([key]) => key === event.key);
    const isBare = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
    if (!move || !isBare || event.target !== board.element || nothingSelected()) return;
    event.preventDefault();
    editor.nudge(move[1], move[2]);
  });
  return [
    {
      name: "Run",
      section: "Run",
      keys: ["Mod+Enter"],
      whileTyping: true,
      isDisabled: isRunning,
      run: () => void session.start(),
    },
    {
      name: "Queue one more run, with the next seed",
      section: "Run",
      keys: ["Mod+Shift+Enter"],
      whileTyping: true,
      isDisabled: () => !isRunning(),
      run: () => void session.enqueue(),
    },
    {
      name: "Stop",
      section: "Run",
      keys: ["Mod+."],
      whileTyping: true,
      isDisabled: () => !isRunning(),
      run: () => void session.control("stop"),
    },
    {
      name: "Record a run, or stop recording",
      section: "Run",
      keys: ["Shift+r"],
      isDisabled: () => !session.canToggleRecording,
      run: () => void session.toggleRecording(),
    },
    {
      name: "Keep the last seconds as a clip",
      section: "Run",
      keys: ["k"],
      isDisabled: () => !session.canKeepClip,
      run: () => void session.keepClip(),
    },
    {
      name: "Pause or resume",
      section: "Run",
      keys: ["p"],
      isDisabled: () => !isActive(session.run),
      run: () => void session.control(session.run?.state === "paused" ? "resume" : "pause"),
    },
    {
      name: "One tick forwards",
      section: "Run",
      keys: ["."],
      isDisabled: () => !isActive(session.run),
      run: () => void session.step(1),
    },
    {
      name: "One node forwards, within a tick",
      section: "Run",
      keys: ["i"],
      isDisabled: () => !isActive(session.run),
      run: () => {
        context.showValues();
        void session.control("step_node");
      },
    },
    {
      name: "One tick back",
      section: "Run",
      keys: [","],
      isDisabled: () => !isActive(session.run),
      run: () => void session.step(-1),
    },
    {
      name: "Go on live",
      section: "Run",
      keys: ["Shift+l"],
      isDisabled: () => !session.isInThePast,
      run: () => void session.goLive(),
    },
    {
      name: "Run from here, beside the recorded run",
      section: "Run",
      keys: ["Shift+b"],
      isDisabled: () => !session.canFork,
      run: () => void session.fork(),
    },
    {
      name: "Sweep a widget or a brain",
      section: "Run",
      keys: ["Shift+s"],
      run: context.sweep,
    },
    {
      name: "Play, with keys or gamepad",
      section: "Run",
      keys: ["g"],
      isDisabled: () => !isRunning() || session.pads.length === 0,
      run: () => session.play(true),
    },
    {
      name: "Save",
      section: "Files",
      keys: ["Mod+s"],
      whileTyping: true,
      run: () => void files.save(),
    },
    {
      name: "Save as",
      section: "Files",
      keys: ["Mod+Shift+s"],
      whileTyping: true,
      run: () => void files.save(true),
    },
    {
      name: "Open",
      section: "Files",
      keys: ["Mod+o"],
      whileTyping: true,
      run: () => context.panel.show("files"),
    },
    { name: "New workflow", section: "Files", keys: [], run: () => void files.create() },
    {
      name: "Download with all brains",
      section: "Files",
      keys: [],
      run: () => void files.download(),
    },
    {
      name: "Save a picture of the workflow",
      section: "Files",
      keys: ["Shift+p"],
      run: () =>
        void context.pictures.ofWorkflow().then((picture) => files.downloadPicture(picture)),
    },
    {
      name: "Save a picture of the game",
      section: "Files",
      keys: ["Shift+k"],
      isDisabled: () => !editor.hasConsole,
      run: () => void saveGame(context.pictures, files),
    },
    { name: "Gallery", section: "Files", keys: [], run: context.gallery },
    {
      name: "Undo",
      section: "Edit",
      keys: ["Mod+z"],
      isDisabled: () => !doc.canUndo,
      run: () => doc.undo(),
    },
    {
      name: "Redo",
      section: "Edit",
      keys: ["Mod+Shift+z", "Mod+y"],
      isDisabled: () => !doc.canRedo,
      run: () => doc.redo(),
    },
    {
      name: "Select all",
      section: "Edit",
      keys: ["Mod+a"],
      run: () => board.select(Object.keys(editor.workflow.nodes)),
    },
    {
      name: "Duplicate",
      section: "Edit",
      keys: ["Mod+d"],
      isDisabled: nothingSelected,
      run: () => editor.duplicate(),
    },
    {
      name: "Delete",
      section: "Edit",
      keys: ["Delete", "Backspace"],
      isDisabled: () => nothingSelected() && board.selectedGroups.length === 0,
      run: () => editor.remove(),
    },
    {
      name: "Copy",
      section: "Edit",
      keys: [],
      isDisabled: nothingSelected,
      run: () => copyByMenu(editor),
    },
    { name: "Add a node", section: "Nodes", keys: ["a", " "], run: context.palette },
    {
      name: "Add a note",
      section: "Nodes",
      keys: ["n"],
      run: () => void addNote(editor, null),
    },
    {
      name: "Collapse or expand",
      section: "Nodes",
      keys: ["c"],
      isDisabled: nothingSelected,
      run: () => editor.toggleCollapsed(),
    },
    {
      name: "Colour",
      section: "Nodes",
      keys: ["Shift+c"],
      isDisabled: () => nothingSelected() && board.selectedGroups.length === 0,
      run: () => colourMenu(editor, atSelection(editor)),
    },
    {
      name: "Mute",
      section: "Nodes",
      keys: ["m"],
      isDisabled: () => nothingSelected() && board.selectedGroups.length === 0,
      run: () => editor.toggleMode("mute"),
    },
    {
      name: "Bypass",
      section: "Nodes",
      keys: ["b"],
      isDisabled: () => nothingSelected() && board.selectedGroups.length === 0,
      run: () => editor.toggleMode("bypass"),
    },
    {
      name: "Group",
      section: "Nodes",
      keys: ["Mod+g"],
      isDisabled: nothingSelected,
      run: () => editor.group(),
    },
    {
      name: "Make a box",
      section: "Nodes",
      keys: ["Shift+g"],
      isDisabled: nothingSelected,
      run: () => void promptForBox(editor),
    },
    {
      name: "Open the box",
      section: "Nodes",
      keys: ["o"],
      isDisabled: () => !editor.isBox(editor.selection[0]),
      run: () => editor.enter(editor.selection[0]!),
    },
    {
      name: "Leave the box",
      section: "Nodes",
      keys: ["Shift+o"],
      isDisabled: () => editor.path === "",
      run: () => editor.leave(),
    },
    {
      name: "Unpack the box",
      section: "Nodes",
      keys: ["Shift+u"],
      isDisabled: () => !editor.selection.some((id) => editor.isBox(id)),
      run: () => editor.unpack(),
    },
    {
      name: "Save the box as a part",
      section: "Nodes",
      keys: [],
      isDisabled: () => editor.chosenSubgraph === null,
      run: () => {
        const chosen = editor.chosenSubgraph;
        if (chosen) void context.parts.save(chosen.name, chosen.subgraph);
      },
    },
    {
      name: "Align left",
      section: "Nodes",
      keys: ["Alt+ArrowLeft"],
      isDisabled: fewerThan(2),
      run: () => editor.align("left"),
    },
    {
      name: "Align top",
      section: "Nodes",
      keys: ["Alt+ArrowUp"],
      isDisabled: fewerThan(2),
      run: () => editor.align("top"),
    },
    {
      name: "Wider",
      section: "Nodes",
      keys: ["Shift+ArrowRight"],
      isDisabled: nothingSelected,
      run: () => editor.widen(WIDTH_STEP),
    },
    {
      name: "Narrower",
      section: "Nodes",
      keys: ["Shift+ArrowLeft"],
      isDisabled: nothingSelected,
      run: () => editor.widen(-WIDTH_STEP),
    },
    { name: "Show everything", section: "View", keys: ["f"], run: () => board.fit() },
    {
      name: "Show the selection",
      section: "View",
      keys: ["Shift+f"],
      isDisabled: nothingSelected,
      run: () => board.fit(editor.selection),
    },
    { name: "Zoom in", section: "View", keys: ["+", "="], run: () => board.zoom(1.2) },
    { name: "Zoom out", section: "View", keys: ["-"], run: () => board.zoom(1 / 1.2) },
    {
      name: "List of nodes",
      section: "View",
      keys: ["l"],
      run: () => context.panel.toggleList(),
    },
    {
      name: "Runs",
      section: "View",
      keys: ["r"],
      run: () => context.panel.show(context.panel.tab === "runs" ? null : "runs"),
    },
    {
      name: "Data sets",
      section: "View",
      keys: ["d"],
      run: () => context.panel.show(context.panel.tab === "data" ? null : "data"),
    },
    { name: "Values in full", section: "View", keys: ["v"], run: context.values },
    {
      name: "Values on wires",
      section: "View",
      keys: ["w"],
      run: () => session.toggleView("wires"),
    },
    {
      name: "Budgets of the last ticks",
      section: "View",
      keys: ["t"],
      run: () => session.toggleView("budgets"),
    },
    {
      name: "All commands",
      section: "View",
      keys: ["Mod+k"],
      whileTyping: true,
      run: context.commands,
    },
    { name: "Dark or light", section: "View", keys: ["Shift+t"], run: context.theme },
    { name: "Keys and help", section: "View", keys: ["?"], run: context.help },
    {
      name: "Deselect, or leave the box",
      section: "View",
      keys: ["Escape"],
      run: () => {
        closePopover();
        if (board.selection.length || board.selectedGroups.length || !editor.path) board.select([]);
        else editor.leave();
      },
    },
  ];
}

/** Return the place on the page for a menu about the selection. */
function atSelection({ board, selection }: Editor): Point {
  const box = selection[0] === undefined ? undefined : board.boxes.get(selection[0]);
  const [x, y] = box ?? board.view.area;
  return board.toClient([x + 16, y + 40]);
}

async function saveGame(pictures: Pictures, files: Files): Promise<void> {
  const picture = await pictures.ofGame();
  if (picture) await files.downloadPicture(picture);
  else showMessage("The console shows no picture yet.", "error");
}

const isTyping = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");

/** Handle the browser's copy, cut and paste. Nodes are pasted at the pointer, if it is over the canvas. */
function watchClipboard(editor: Editor): void {
  const { board } = editor;
  let pointer: Point | null = null;
  board.element.addEventListener(
    "pointermove",
    ({ clientX, clientY }) => (pointer = [clientX, clientY]),
  );
  board.element.addEventListener("pointerleave", () => (pointer = null));
  const copySelection = (event: ClipboardEvent): boolean => {
    const text =
      isTyping() || document.getSelection()?.isCollapsed === false ? null : editor.copy();
    if (text === null) return false;
    event.clipboardData!.setData("text/plain", text);
    event.preventDefault();
    return true;
  };
  addEventListener("copy", copySelection);
  addEventListener("cut", (event) => {
    if (copySelection(event)) editor.remove();
  });
  addEventListener("paste", (event) => {
    if (isTyping()) return;
    if (
      editor.paste(
        event.clipboardData?.getData("text/plain") ?? "",
        pointer && board.fromClient(pointer),
      )
    )
      event.preventDefault();
  });
}

function copyByMenu(editor: Editor): void {
  const text = editor.copy();
  if (text) void navigator.clipboard?.writeText(text).catch(() => undefined);
}

/** Paste from the system's clipboard if the browser permits, or else what was last copied on this page. */
export async function pasteByMenu(editor: Editor, at: Point): Promise<void> {
  const text = await navigator.clipboard?.readText().catch(() => "");
  if (!editor.paste(text || "", at) && !editor.paste(editor.copied, at))
    showMessage("There are no nodes in the clipboard.");
}
