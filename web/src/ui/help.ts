/** The dialog with keys and gestures. */

import { type Command, keyText } from "../editor/commands";
import { h } from "./dom";
import { openDialog } from "./overlay";

const GESTURES: readonly (readonly [string, string])[] = [
  ["Add a node", "double click the canvas"],
  ["Wire", "drag from socket to socket; sockets that do not fit are dimmed"],
  ["Wire to a new node", "release the wire on empty canvas"],
  ["Take a wire off", "drag it off its input and let go"],
  ["Insert into a wire", "drop an unwired node on it"],
  ["Select several", `${keyText("Mod")} and drag, or Shift and click`],
  ["Move the view", "drag the canvas; the wheel zooms"],
  ["Move the selection", "drag it, or the arrow keys"],
  ["Menus", "right click a node, a wire, a group, the canvas"],
  ["Change a value", "click it on the node"],
  ["Change a brain", "click it, or drop a .safetensors file on the node"],
  ["Open what somebody sent", "drop the .json, .zip, .png or .mp4 file on the page"],
];

const ALL_COMMANDS = `${keyText("Mod+k")} finds every command by its name, and F2 there gives it other keys.`;

const COLUMNS = [
  ["Run", "Files", "Edit"],
  ["Nodes", "View"],
] as const;

export function openHelp(commands: readonly Command[]): void {
  const entry = (name: string, how: string | HTMLElement) => [h("dt", {}, name), h("dd", {}, how)];
  const keys = (section: Command["section"]) =>
    h(
      "section",
      {},
      h("h3", {}, section),
      h(
        "dl",
        {},
        ...commands
          .filter((command) => command.section === section && command.keys.length)
          .flatMap((command) => entry(command.name, h("kbd", {}, keyText(command.keys[0]!)))),
      ),
    );
  const gestures = (name: string, rows: readonly (readonly [string, string])[]) =>
    h(
      "section",
      {},
      h("h3", {}, name),
      h("dl", {}, ...rows.flatMap(([what, how]) => entry(what, how))),
    );
  void openDialog(
    "Keys and gestures",
    [
      h("p", { class: "muted" }, ALL_COMMANDS),
      h(
        "div",
        { class: "help" },
        h("div", {}, gestures("Mouse", GESTURES), gestures("Symbols", SYMBOLS)),
        ...COLUMNS.map((sections) => h("div", {}, ...sections.map(keys))),
      ),
    ],
    [],
    "wide",
  );
}

const SYMBOLS: readonly (readonly [string, string])[] = [
  ["▶ running", "ran since the last look"],
  ["– skipped", "nothing was delivered to it"],
  ["••• thinking", "works in the background"],
  ["↻ restarting", "its process ended, and another is being started"],
  ["■ cached", "a cache had its result, or, after the name, a part of it: point at it"],
  ["● socket", "reads the last value"],
  ["◆ socket", "reads a value on the tick it arrives"],
  ["latch | emit", "a register: takes at the end of a tick, gives out at the start of the next"],
];
