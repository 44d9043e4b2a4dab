/** What node types there are, as the server describes them at `/nodes`. */

import { type Json, type JsonObject, own } from "./json";

export type Dim = number | string;

export interface SocketOption {
  readonly label: string;
  readonly dtype: string | null;
  readonly dims: readonly Dim[];
}

/** What a socket gives or takes: one of `options`, what a type variable stands for, or anything. */
export interface SocketKind {
  readonly kind: string;
  readonly options: readonly SocketOption[];
  readonly variable: string | null;
  readonly anything: boolean;
}

export interface Input extends SocketKind {
  readonly reading: "last" | "on" | "sample";
  readonly many: boolean;
  readonly required: boolean;
  readonly doc: string;
}

export interface Output extends SocketKind {
  readonly absent: boolean;
  readonly lazy: boolean;
  readonly doc: string;
}

export interface Widget {
  readonly type: string;
  readonly schema: JsonObject;
  readonly default: Json;
  readonly required: boolean;
  readonly doc: string;
}

export interface NodeType {
  readonly type: string;
  readonly category: string;
  readonly summary: string;
  readonly doc: string;
  readonly inputs: Readonly<Record<string, Input>>;
  readonly outputs: Readonly<Record<string, Output>>;
  readonly widgets: Readonly<Record<string, Widget>>;
  readonly brain: { readonly kind: string; readonly required: boolean } | null;
  readonly register: boolean;
  /** A game is played on it. */
  readonly console: boolean;
  /** What it gives out comes from a person at the page. */
  readonly outside: boolean;
  readonly clocked: boolean;
  /** Where it computes beside the tick, if it does: "either" and "optional" leave that to the workflow. */
  readonly background: "thread" | "process" | "either" | "optional" | null;
}

export class Catalog {
  readonly #types: ReadonlyMap<string, NodeType>;

  constructor(types: Readonly<Record<string, NodeType>>) {
    this.#types = new Map(Object.values(types).map((type) => [type.type, type]));
  }

  get types(): readonly NodeType[] {
    return [...this.#types.values()];
  }

  /** The type of a node, or undefined if it is not installed here. An older version counts: the server migrates it. */
  find(type: string): NodeType | undefined {
    const found = this.#types.get(type);
    if (found) return found;
    const [name, version] = type.split("@");
    return this.types.find((each) => {
      const [itsName, itsVersion] = each.type.split("@");
      return itsName === name && Number(version) < Number(itsVersion);
    });
  }
}

const FLAG: SocketOption = { label: "flag", dtype: null, dims: [] };
/** The input that every node has: it runs only while this is true. */
export const WHEN_INPUT: Input = {
  kind: "flag",
  options: [FLAG],
  variable: null,
  anything: false,
  reading: "last",
  many: false,
  required: false,
  doc: "the node runs only while it is true",
};

export const hasFrame = (socket: SocketKind): boolean => socket.options.some((option) => option.label === "frame");

/** The node shows a picture: the console, a Preview. */
export function isScreen(type: NodeType): boolean {
  if (type.register) return Object.values(type.outputs).some(hasFrame);
  return Object.keys(type.outputs).length === 0 && typeBase(type) === "Preview";
}

export const typeBase = (type: NodeType): string => type.type.replace(/@.*$/, "").split(".").at(-1)!;

export const isReroute = (type: NodeType | undefined): boolean => type !== undefined && typeBase(type) === "Reroute";

/** The label that decides a socket's colour. */
export function labelOf(socket: SocketKind | undefined): string {
  return socket?.options[0]?.label ?? "any";
}

/** The same of a type in words: "frame" of "frame u8[h w 3]". */
export const labelIn = (words: string): string => words.split(" ")[0]!;

export const inputOf = (type: NodeType | undefined, socket: string): Input | undefined =>
  socket === "when" ? WHEN_INPUT : own(type?.inputs, socket);
