/** Everything that has a key, in one list: the shortcuts, the help sheet and the menus are made from it. */

import type { MenuItem } from "../ui/overlay";

export interface Command {
  readonly name: string;
  readonly section: "Run" | "Files" | "Edit" | "Nodes" | "View";
  /** As `event.key` names it, with Mod for Ctrl or Cmd; the first is shown. */
  readonly keys: readonly string[];
  readonly run: () => void;
  readonly isDisabled?: () => boolean;
  /** Also while somebody types in a field. */
  readonly whileTyping?: boolean;
}

const isMac = typeof navigator !== "undefined" && /Mac/.test(navigator.platform);

export function keyText(keys: string): string {
  const names: Record<string, string> = { Mod: isMac ? "⌘" : "Ctrl", ArrowUp: "↑", ArrowLeft: "←", Delete: "Del", " ": "Space" };
  if (keys.length === 1) return names[keys] ?? keys.toUpperCase();
  return keys
    .split("+")
    .map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key))
    .join(" ");
}

/** What was pressed, in the form that commands write. */
export function keyCombination(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isLetter = /^[a-z0-9]$/.test(key);
  return [
    event.ctrlKey || event.metaKey ? "Mod" : "",
    event.altKey ? "Alt" : "",
    event.shiftKey && (isLetter || event.key.length > 1) ? "Shift" : "",
    key,
  ]
    .filter(Boolean)
    .join("+");
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  (target as HTMLInputElement).type !== "checkbox";

/** Keys without Ctrl that change nodes or could be meant for what has the focus: they are the graph's only where it has it. */
const isBare = (keys: string) => /^((Shift\+)?[a-z0-9]| |Delete|Backspace)$/.test(keys);
const isOfGraph = (target: EventTarget | null) =>
  target === document.body || (target instanceof Element && target.closest("#board, .node-list") !== null);

export function listenForKeys(commands: readonly Command[]): void {
  const byKey = new Map(commands.flatMap((command) => command.keys.map((keys) => [keys, command] as const)));
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const keys = keyCombination(event);
    const command = byKey.get(keys);
    if (!command || (isTyping(event.target) && !command.whileTyping) || (isBare(keys) && !isOfGraph(event.target))) return;
    event.preventDefault();
    if (!command.isDisabled?.()) command.run();
  });
}

export function toMenuItem(command: Command): MenuItem {
  return {
    name: command.name,
    run: command.run,
    disabled: command.isDisabled?.() ?? false,
    ...(command.keys[0] ? { keys: keyText(command.keys[0]) } : {}),
  };
}
