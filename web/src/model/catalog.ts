/** The node types, as described by the server at `/nodes`. */

import { type Json, type JsonObject, own } from "./json";

export type Dim = number | string;

export interface SocketOption {
  readonly label: string;
  readonly dtype: string | null;
  readonly dims: readonly Dim[];
}

/** The type of a socket: one of `options`, a type variable, or anything. */
export interface SocketKind {
  readonly kind: string;
  readonly options: readonly SocketOption[];
  readonly variable: string | null;
  readonly anything: boolean;
}

export interface Input extends SocketKind {
  readonly reading: "last" | "on" | "aged";
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
  /** What its text names; null: something else. */
  readonly names: "game" | "state" | "variable" | null;
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
  /** It is a console: a game is played on it. */
  readonly console: boolean;
  /** Its outputs come from a person at the page. */
  readonly external: boolean;
  readonly every_tick: boolean;
  /** The place of its background computation. With "either" and "allowed" the workflow decides; null: it has none. */
  readonly background: "thread" | "process" | "either" | "allowed" | null;
}

/** The category of boxes, and of the border of their inside. */
export const BOX = "box";

/** The types of the boxes of a workflow. */
export type BoxTypes = (
  type: string,
  find: (type: string) => NodeType | undefined,
) => NodeType | undefined;

export class Catalog {
  readonly #types: ReadonlyMap<string, NodeType>;
  readonly #boxes = new Map<string, NodeType | undefined>();
  #boxTypes: BoxTypes = () => undefined;
  #parts: readonly NodeType[] = [];

  constructor(types: Readonly<Record<string, NodeType>>) {
    this.#types = new Map(Object.values(types).map((type) => [type.type, type]));
  }

  get types(): readonly NodeType[] {
    return [...this.#types.values()];
  }

  /** Return a node type by its name, newer versions included, since the server migrates nodes; undefined if not installed. */
  find(type: string): NodeType | undefined {
    if (type.startsWith("defs/")) return this.#findBox(type);
    const found = this.#types.get(type);
    if (found) return found;
    const [name, version] = type.split("@");
    return this.types.find((each) => {
      const [itsName, itsVersion] = each.type.split("@");
      return itsName === name && Number(version) < Number(itsVersion);
    });
  }

  /** The user's parts, as types of boxes: "parts/NAME". */
  get parts(): readonly NodeType[] {
    return this.#parts;
  }

  setParts(parts: readonly NodeType[]): void {
    this.#parts = parts;
  }

  /** Set the types of boxes, which follow from the workflow. */
  setBoxTypes(types: BoxTypes): void {
    this.#boxTypes = types;
    this.#boxes.clear();
  }

  #findBox(type: string): NodeType | undefined {
    if (!this.#boxes.has(type)) {
      this.#boxes.set(type, undefined); // a subgraph that contains itself ends here
      this.#boxes.set(
        type,
        this.#boxTypes(type, (inner) => this.find(inner)),
      );
    }
    return this.#boxes.get(type);
  }
}

const FLAG: SocketOption = { label: "flag", dtype: null, dims: [] };
/** The input `when` of every node. */
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

export const hasFrame = (socket: SocketKind): boolean =>
  socket.options.some((option) => option.label === "frame");

/** Return true for node types that show a picture: consoles, Preview. */
export function isScreen(type: NodeType): boolean {
  if (type.register) return Object.values(type.outputs).some(hasFrame);
  return Object.keys(type.outputs).length === 0 && typeBase(type) === "Preview";
}

export const typeBase = (type: NodeType): string =>
  type.type
    .replace(/@.*$/, "")
    .replace(/^parts\//, "")
    .split(".")
    .at(-1)!;

export const isReroute = (type: NodeType | undefined): boolean =>
  type !== undefined && typeBase(type) === "Reroute";

/** Return the label of a socket's type, which determines its colour. */
export function labelOf(socket: SocketKind | undefined): string {
  return socket?.options[0]?.label ?? "any";
}

/** Return the label of a type given as text: "frame" for "frame u8[h w 3]". */
export const labelIn = (words: string): string => words.split(" ")[0]!;

export const inputOf = (type: NodeType | undefined, socket: string): Input | undefined =>
  socket === "when" ? WHEN_INPUT : own(type?.inputs, socket);
