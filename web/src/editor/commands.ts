/** Commands and their keys. Shortcuts, help and menus are made from one list of commands. */

import type { MenuItem } from "../ui/overlay";

export interface Command {
  readonly name: string;
  readonly section: "Run" | "Files" | "Edit" | "Nodes" | "View";
  /** Named as in `event.key`, with Mod for Ctrl or Cmd. The first one is displayed. */
  readonly keys: readonly string[];
  readonly run: () => void;
  readonly isDisabled?: () => boolean;
  /** The keys work in text fields, too. */
  readonly whileTyping?: boolean;
}

const isMac = typeof navigator !== "undefined" && /Mac/.test(navigator.platform);

export function keyText(keys: string): string {
  const names: Record<string, string> = {
    Mod: isMac ? "⌘" : "Ctrl",
    ArrowUp: "↑",
    ArrowLeft: "←",
    ArrowRight: "→",
    Delete: "Del",
    " ": "Space",
  };
  if (keys.length === 1) return names[keys] ?? keys.toUpperCase();
  return keys
    .split("+")
    .map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key))
    .join(" ");
}

/** Return the pressed keys in the form of `Command.keys`. */
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

/** Keys without Ctrl could be meant for the focused element, so they are commands only if the graph has the focus. */
const isBare = (keys: string) => /^((Shift\+)?[a-z0-9]| |Delete|Backspace)$/.test(keys);
const isOfGraph = (target: EventTarget | null) =>
  target === document.body ||
  (target instanceof Element && target.closest("#board, .node-list") !== null);

export function listenForKeys(commands: readonly Command[]): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const keys = keyCombination(event);
    const command = commands.find((each) => each.keys.includes(keys));
    if (
      !command ||
      (isTyping(event.target) && !command.whileTyping) ||
      (isBare(keys) && !isOfGraph(event.target))
    )
      return;
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
