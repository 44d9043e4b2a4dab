/** The command palette: every command with its keys, to be found by typing, run with Enter, and given other keys with F2. */

import { type Command, keyCombination, keyText } from "../editor/commands";
import { canBeKeys, type OwnKeys } from "../editor/own_keys";
import { button, h } from "./dom";
import { openDialog, openPopover } from "./overlay";
import { SearchList } from "./search_list";

const WIDTH = 420;
const TOP = 96;

export function openCommands(commands: readonly Command[], own: OwnKeys, query = ""): void {
  const search = new SearchList<Command>("command", {
    name: "Commands",
    label: "Search commands",
    placeholder: "Search commands",
    empty: "There is no such command.",
    query,
    find: (words) => find(commands, words),
    row,
    accept(command) {
      if (isDisabled(command)) return;
      close();
      command.run();
    },
  });
  search.input.addEventListener("keydown", async (event) => {
    const command = search.chosen;
    if (event.key !== "F2") return;
    event.preventDefault();
    if (!command) return;
    close();
    await askKeys(command, commands, own);
    openCommands(commands, own, search.input.value);
  });
  const element = h(
    "div",
    { class: "palette", role: "dialog", "aria-label": "Commands" },
    search.head,
    search.list,
    h("p", { class: "palette-foot" }, "Enter runs a command, F2 changes its keys."),
  );
  const close = openPopover(element, [(innerWidth - WIDTH) / 2, TOP]);
  search.input.focus();
}

const isDisabled = (command: Command): boolean => command.isDisabled?.() ?? false;

/** Return the commands that have all words of a query, first those that can be run now. */
function find(commands: readonly Command[], query: string): readonly Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = commands.filter(({ section, name }) => {
    const text = `${section} ${name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return [...fitting.filter((each) => !isDisabled(each)), ...fitting.filter(isDisabled)];
}

function row(command: Command): HTMLElement {
  const isOff = isDisabled(command);
  return h(
    "div",
    { "aria-disabled": String(isOff), data: { command: command.name } },
    h("span", { class: "grow" }, h("b", {}, command.name)),
    h("small", { class: "category" }, isOff ? "not now" : command.section),
    ...command.keys.map((keys) => h("kbd", {}, keyText(keys))),
  );
}

/** Ask for other keys of a command, and keep them. */
async function askKeys(
  command: Command,
  commands: readonly Command[],
  own: OwnKeys,
): Promise<void> {
  let pressed: string | null = null;
  const shown = h("kbd", {}, command.keys[0] ? keyText(command.keys[0]) : "none");
  const note = h("p", { class: "muted", role: "status" }, "");
  const field = h(
    "div",
    {
      class: "field keys",
      tabindex: "0",
      role: "textbox",
      "aria-label": "New keys",
      autofocus: true,
    },
    shown,
  );
  field.addEventListener("keydown", (event) => {
    const keys = keyCombination(event);
    if (!canBeKeys(keys)) return; // they leave the field, and the dialog
    event.preventDefault();
    event.stopPropagation();
    pressed = keys;
    shown.textContent = keyText(keys);
    const other = commands.find((each) => each !== command && each.keys.includes(keys));
    note.textContent = other ? `“${other.name}” has these keys, and loses them.` : "";
  });
  const all = button("Reset the keys of all commands", () => {
    own.reset();
    field.closest("dialog")?.close();
  });
  const answer = await openDialog(
    `Keys of “${command.name}”`,
    [h("p", {}, "Press the new keys. Tab leaves the field."), field, note, all],
    [
      { name: "Cancel", value: "", kind: "quiet" },
      { name: "Use them", value: "use", kind: "primary" },
    ],
    "narrow",
  );
  if (answer === "use" && pressed !== null) own.set(command, pressed, commands);
}
