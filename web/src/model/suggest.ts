/** The node types that the palette offers, by the typed text and by the dragged link. */

import type { Catalog, NodeType, SocketKind } from "./catalog";
import { labelIn, labelOf, typeBase } from "./catalog";
import { isCompatible, type Linking } from "./compatibility";

/** The end of a dragged link: an output that needs an input, or an input that needs an output. */
export interface DraggedEnd {
  readonly side: "output" | "input";
  /** Its type, as text of the server. */
  readonly kind: string;
}

export interface Suggestion {
  readonly type: NodeType;
  /** The socket of the new node to link to. */
  readonly socket: string | null;
  /** The game that the new node plays, if that is what was searched. */
  readonly game?: string;
}

/** Return node types, best matches first; with a dragged end, only those with a socket for it. */
export function suggest(
  catalog: Catalog,
  linking: Linking,
  query: string,
  dragged: DraggedEnd | null = null,
): readonly Suggestion[] {
  const found = [...catalog.types, ...catalog.parts].flatMap((type) => {
    const match = matchScore(type, query);
    const socket = dragged ? bestSocket(type, linking, dragged) : { name: null, score: 0 };
    return match === null || socket === null
      ? []
      : [{ type, socket: socket.name, score: match + socket.score }];
  });
  found.sort((a, b) => b.score - a.score || a.type.type.localeCompare(b.type.type));
  return found.map(({ type, socket }) => ({ type, socket }));
}

/** Return a console for each game whose name has all words of the typed text. */
export function suggestGames(
  catalog: Catalog,
  games: readonly string[],
  query: string,
): readonly Suggestion[] {
  const isConsole = ({ console, widgets }: NodeType) =>
    console && Object.values(widgets).some(({ names }) => names === "game");
  const type = catalog.types.find(isConsole);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!type || words.length === 0) return [];
  const found = games.filter((game) => words.every((word) => game.toLowerCase().includes(word)));
  return found.map((game) => ({ type, socket: null, game }));
}

/** Return how well a type matches the typed text, of which all words must occur; null if it does not. */
function matchScore(type: NodeType, query: string): number | null {
  const name = typeBase(type).toLowerCase();
  const rest = `${type.type} ${type.category} ${type.summary}`.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    if (name === word) score += 100;
    else if (name.startsWith(word)) score += 60;
    else if (initials(typeBase(type)).startsWith(word)) score += 50;
    else if (name.includes(word)) score += 40;
    else if (rest.includes(word)) score += 10;
    else return null;
  }
  return score;
}

const initials = (name: string) => name.replace(/[^A-Z]/g, "").toLowerCase();

function bestSocket(
  type: NodeType,
  linking: Linking,
  dragged: DraggedEnd,
): { name: string; score: number } | null {
  const sockets: [string, SocketKind][] = Object.entries(
    dragged.side === "output" ? type.inputs : type.outputs,
  );
  let best: { name: string; score: number } | null = null;
  for (const [index, [name, kind]] of sockets.entries()) {
    const isSuitable =
      dragged.side === "output"
        ? isCompatible(linking, dragged.kind, kind.kind)
        : isCompatible(linking, kind.kind, dragged.kind);
    if (!isSuitable) continue;
    const isExact = kind.options.length > 0 && labelOf(kind) === labelIn(dragged.kind);
    const inexact = kind.variable === null ? 2 : 8;
    const score = (isExact ? 30 : inexact) - index;
    if (!best || score > best.score) best = { name, score };
  }
  return best;
}
