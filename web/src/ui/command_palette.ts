/** The command palette: every command with its keys, to be found by typing, run with Enter, and given other keys with F2. */

import { type Command, keyCombination, keyText } from "../editor/commands";
import { canBeKeys, type OwnKeys } from "../editor/own_keys";
import { button, h, icon } from "./dom";
import { openDialog, openPopover } from "./overlay";

const WIDTH = 420;
const TOP = 96;

export function openCommands(commands: readonly Command[], own: OwnKeys, query = ""): void {
  const input = h("input", {
    class: "palette-input",
    type: "text",
    placeholder: "Search commands",
    value: query,
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "command-list",
    "aria-label": "Search commands",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = h("div", {
    id: "command-list",
    class: "palette-list",
    role: "listbox",
    "aria-label": "Commands",
  });
  const element = h(
    "div",
    { class: "palette", role: "dialog", "aria-label": "Commands" },
    h("div", { class: "palette-head" }, icon("search"), input),
    list,
    h("p", { class: "palette-foot" }, "Enter runs a command, F2 changes its keys."),
  );
  let found: readonly Command[] = [];
  let chosen = 0;
  const choose = (index: number) => {
    chosen = Math.max(0, Math.min(index, found.length - 1));
    for (const [i, row] of [...list.children].entries()) {
      row.setAttribute("aria-selected", String(i === chosen));
      if (i === chosen) row.scrollIntoView({ block: "nearest" });
    }
    input.setAttribute("aria-activedescendant", `command-${chosen}`);
  };
  const run = (command: Command | undefined) => {
    if (!command || command.isDisabled?.()) return;
    close();
    command.run();
  };
  const changeKeys = async (command: Command | undefined) => {
    if (!command) return;
    close();
    await askKeys(command, commands, own);
    openCommands(commands, own, input.value);
  };
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = ({ section, name }: Command) => `${section} ${name}`.toLowerCase();
    const fits = (command: Command) => words.every((word) => textOf(command).includes(word));
    const isDisabled = (command: Command) => command.isDisabled?.() ?? false;
    const fitting = commands.filter(fits);
    // what can be run now comes first
    found = [...fitting.filter((each) => !isDisabled(each)), ...fitting.filter(isDisabled)];
    list.replaceChildren(
      ...found.map((command, i) => option(command, i, () => run(command))),
      ...(found.length ? [] : [h("p", { class: "empty" }, "There is no such command.")]),
    );
    choose(0);
  };
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(chosen + step);
    else if (event.key === "Enter") run(found[chosen]);
    else if (event.key === "F2") void changeKeys(found[chosen]);
    else return;
    event.preventDefault();
  });
  search();
  const close = openPopover(element, [(innerWidth - WIDTH) / 2, TOP]);
  input.focus();
}

function option(command: Command, index: number, onclick: () => void): HTMLElement {
  const isDisabled = command.isDisabled?.() ?? false;
  return h(
    "div",
    {
      id: `command-${index}`,
      class: "palette-option",
      role: "option",
      "aria-disabled": String(isDisabled),
      onclick,
      data: { command: command.name },
    },
    h("span", { class: "grow" }, h("b", {}, command.name)),
    h("small", { class: "category" }, isDisabled ? "not now" : command.section),
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
