/** The possible links. The server has the rules; this looks links up in the answer of its last check. */

import { type Catalog, inputOf } from "./catalog";
import { own } from "./json";
import { type Link, type SocketRef, typeName, type Workflow } from "./workflow";

/** The part of the server's answer to `/check` that is about links. Types are given as text. */
export interface Linking {
  /** The types of outputs, by "node.output". */
  readonly outputs: Readonly<Record<string, string>>;
  /** The types of inputs, by "node.input". */
  readonly inputs: Readonly<Record<string, string>>;
  /** The type of an output -> all types of inputs that take it. */
  readonly fits: Readonly<Record<string, readonly string[]>>;
  /** A node -> the nodes whose results it needs within the same tick. Nodes that delay are left out. */
  readonly before: Readonly<Record<string, readonly string[]>>;
}

export const UNKNOWN_LINKING: Linking = { outputs: {}, inputs: {}, fits: {}, before: {} };

/** Return the reason why a link is refused, as a sentence, or null. Sockets of unknown nodes take anything. */
export function linkError(
  workflow: Workflow,
  catalog: Catalog,
  linking: Linking,
  { from, to }: Link,
): string | null {
  const target = own(workflow.nodes, to.node);
  if (!target || !own(workflow.nodes, from.node))
    return "One end of this link is not in the workflow.";
  const given = outputKind(workflow, catalog, linking, from);
  const wanted = inputKind(workflow, catalog, linking, to);
  if (given === undefined || wanted === undefined) return null;
  if (!isCompatible(linking, given, wanted)) {
    return `${from.node}.${from.socket} gives ${given}, but ${to.node}.${to.socket} takes ${wanted}.`;
  }
  if (closesLoop(linking, { from, to })) {
    const name = typeName(target.type);
    return `This link closes a loop through ${to.node} (${name}) within one tick. Put a Previous node into it, or let a node on it think while the game goes on.`;
  }
  return null;
}

/** Return true if an input takes an output. Types that the server has not checked yet count as compatible. */
export function isCompatible(linking: Linking, given: string, wanted: string): boolean {
  return own(linking.fits, given)?.includes(wanted) ?? true;
}

/** Return the type of an output; undefined if it is not known. */
export function outputKind(
  workflow: Workflow,
  catalog: Catalog,
  { outputs }: Linking,
  { node, socket }: SocketRef,
): string | undefined {
  const entry = own(workflow.nodes, node);
  if (!entry) return undefined;
  return own(outputs, `${node}.${socket}`) ?? own(catalog.find(entry.type)?.outputs, socket)?.kind;
}

/** Return the type of an input; undefined if it is not known. */
export function inputKind(
  workflow: Workflow,
  catalog: Catalog,
  { inputs }: Linking,
  { node, socket }: SocketRef,
): string | undefined {
  const entry = own(workflow.nodes, node);
  if (!entry) return undefined;
  return own(inputs, `${node}.${socket}`) ?? inputOf(catalog.find(entry.type), socket)?.kind;
}

function closesLoop({ before }: Linking, { from, to }: Link): boolean {
  const seen = new Set<string>();
  const waiting = [from.node];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const earlier = own(before, node);
    if (earlier && node === to.node) return true;
    if (!earlier || seen.has(node)) continue;
    seen.add(node);
    waiting.push(...earlier);
  }
  return false;
}
