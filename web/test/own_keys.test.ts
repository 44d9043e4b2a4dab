import { expect, test } from "vitest";

import type { Command } from "../src/editor/commands";
import { canBeKeys, OwnKeys } from "../src/editor/own_keys";

function storage(text: string | null = null) {
  const stored = new Map(text === null ? [] : [["minibrains.keys", text]]);
  return {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
}

const command = (name: string, ...keys: string[]): Command => ({
  name,
  section: "Run",
  keys,
  run: () => undefined,
});
const ALL = [command("Run", "Mod+Enter"), command("Redo", "Mod+Shift+z", "Mod+y"), command("Copy")];
const keysOf = (commands: readonly Command[]) => commands.map(({ keys }) => keys);

test("a command has its own keys at once and in the next page, and others lose them", () => {
  const store = storage();
  const own = new OwnKeys(store);
  const bound = own.bind(ALL);
  own.set(bound[2]!, "Mod+y", bound);
  expect(keysOf(bound)).toEqual([["Mod+Enter"], ["Mod+Shift+z"], ["Mod+y"]]);
  own.set(bound[0]!, "F8", bound);
  expect(keysOf(new OwnKeys(store).bind(ALL))).toEqual([["F8"], ["Mod+Shift+z"], ["Mod+y"]]);
  expect([own.isOwn(bound[0]!), own.isOwn(command("Stop"))]).toEqual([true, false]);
  own.reset();
  expect(keysOf(bound)).toEqual(keysOf(ALL));
  expect(keysOf(new OwnKeys(store).bind(ALL))).toEqual(keysOf(ALL));
});

test("what is stored and cannot be keys counts as nothing", () => {
  for (const text of ["", "[]", "null", "{", '{"Run": "x"}', '{"Run": [1]}', '{"Run": ["Tab"]}'])
    expect(keysOf(new OwnKeys(storage(text)).bind(ALL))).toEqual(keysOf(ALL));
});

test("keys that leave a field or a dialog, and modifiers alone, can be no keys", () => {
  for (const keys of [
    "Tab",
    "Shift+Tab",
    "Enter",
    "Escape",
    "Mod+Control",
    "Shift+Shift",
    "Alt+Alt",
  ])
    expect(canBeKeys(keys)).toBe(false);
  for (const keys of ["Mod+Enter", "x", "Shift+x", " ", "F2", "Alt+ArrowUp", "?"])
    expect(canBeKeys(keys)).toBe(true);
});
