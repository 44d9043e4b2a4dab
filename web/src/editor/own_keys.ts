/** Keys of one's own for commands, kept in the browser. */

import { isObject } from "../model/json";
import type { Command } from "./commands";

const STORE = "minibrains.keys";

/** Keys that always do what they do in every page: they leave a field, a list or a dialog. */
const RESERVED = /^(Shift\+)?(Tab|Enter|Escape)$|^(Control|Shift|Alt|Meta|Mod|Dead|Unidentified)$/;

/** Return true if a command can have a combination, in the form of `keyCombination`. */
export const canBeKeys = (keys: string): boolean =>
  !RESERVED.test(keys) && !/(^|\+)(Control|Shift|Alt|Meta)$/.test(keys);

export class OwnKeys {
  /** By the name of the command. */
  #own: ReadonlyMap<string, readonly string[]>;

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {
    this.#own = new Map(read(storage.getItem(STORE)));
  }

  /** Return the commands with the keys that they have now, whenever these are read. */
  bind(commands: readonly Command[]): readonly Command[] {
    const keysOf = (command: Command) => this.#own.get(command.name) ?? command.keys;
    return commands.map((command) => ({
      ...command,
      get keys() {
        return keysOf(command);
      },
    }));
  }

  isOwn(command: Command): boolean {
    return this.#own.has(command.name);
  }

  /** Give a command these keys; one of the others that has them loses them. */
  set(command: Command, keys: string, others: readonly Command[]): void {
    const changed = new Map(this.#own).set(command.name, [keys]);
    for (const other of others)
      if (other.name !== command.name && other.keys.includes(keys))
        changed.set(
          other.name,
          other.keys.filter((each) => each !== keys),
        );
    this.#keep(changed);
  }

  /** Give all commands the keys that they came with. */
  reset(): void {
    this.#keep(new Map());
  }

  #keep(own: ReadonlyMap<string, readonly string[]>): void {
    this.#own = own;
    try {
      this.storage.setItem(STORE, JSON.stringify(Object.fromEntries(own)));
    } catch {
      // the storage is full or forbidden: they are kept until the page is closed
    }
  }
}

/** Read what was stored, without what is not a list of keys. */
function read(text: string | null): (readonly [string, readonly string[]])[] {
  let data: unknown = null;
  try {
    data = JSON.parse(text ?? "null");
  } catch {
    // as if there were none
  }
  return Object.entries(isObject(data) ? data : {}).flatMap(([name, keys]) =>
    Array.isArray(keys) && keys.every((each) => typeof each === "string" && canBeKeys(each))
      ? [[name, keys as string[]] as const]
      : [],
  );
}
