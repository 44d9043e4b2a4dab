/** Whether an output may be linked to an input. The rule is the server's: this looks up what it said with the last check. */

import { type Catalog, inputOf } from "./catalog";
import { own } from "./json";
import { type Link, type SocketRef, typeName, type Workflow } from "./workflow";

/** What the server says of the sockets of a workflow, and of those of all node types; types are in words. */
export interface Linking {
  /** What flows, by "node.output". */
  readonly outputs: Readonly<Record<string, string>>;
  /** What is taken, by "node.input". */
  readonly inputs: Readonly<Record<string, string>>;
  /** What flows -> all that takes it. */
  readonly fits: Readonly<Record<string, readonly string[]>>;
  /** A node -> those whose results it needs within the same tick. Nodes that delay are not in it. */
  readonly before: Readonly<Record<string, readonly string[]>>;
}

export const UNKNOWN_LINKING: Linking = { outputs: {}, inputs: {}, fits: {}, before: {} };

/** A sentence why the link is refused, or null if it is fine. Sockets of unknown nodes take anything. */
export function linkError(workflow: Workflow, catalog: Catalog, linking: Linking, { from, to }: Link): string | null {
  const target = own(workflow.nodes, to.node);
  if (!target || !own(workflow.nodes, from.node)) return "One end of this link is not in the workflow.";
  const given = outputKind(workflow, catalog, linking, from);
  const wanted = inputKind(workflow, catalog, linking, to);
  if (given === undefined || wanted === undefined) return null;
  if (!isCompatible(linking, given, wanted)) {
    return `${from.node}.${from.socket} gives ${given}, but ${to.node}.${to.socket} takes ${wanted}.`;
  }
  if (closesLoop(linking, { from, to })) {
    const name = typeName(target.type);
    return `This link closes a loop through ${to.node} (${name}) within one tick. Put a Previous node into it: every loop crosses a register.`;
  }
  return null;
}

/** Whether what flows may be taken. What the server has not been asked about yet may: it says so when the link is made. */
export function isCompatible(linking: Linking, given: string, wanted: string): boolean {
  return own(linking.fits, given)?.includes(wanted) ?? true;
}

/** What an output gives; undefined if it is not known. */
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

/** What an input takes; undefined if it is not known. */
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
