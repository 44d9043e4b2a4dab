/**
 * Whether an output may be linked to an input, and in a sentence why not. Looks at one link and what decides type
 * variables around it; sizes that travel through a whole graph are the server's to check.
 */

import { inputOf, type Catalog, type Dim, type SocketKind, type SocketOption } from "./catalog";
import { own } from "./json";
import { linkedInputs, sources, typeName, type Link, type NodeEntry, type Workflow } from "./workflow";

/** A sentence why the link is refused, or null if it is fine. Sockets of unknown nodes take anything. */
export function whyNot(workflow: Workflow, catalog: Catalog, { from, to }: Link): string | null {
  const source = own(workflow.nodes, from.node);
  const target = own(workflow.nodes, to.node);
  if (!source || !target) return "One end of this link is not in the workflow.";
  const given = outputKind(workflow, catalog, from.node, from.socket);
  const wanted = inputKind(workflow, catalog, to.node, to.socket);
  if (!given || !wanted) return null;
  const problem = mismatch(given, wanted);
  if (problem === null) return loops(workflow, catalog, { from, to });
  return `${from.node}.${from.socket} gives ${words(given)}, but ${to.node}.${to.socket} takes ${words(wanted)}${problem}.`;
}

/** Null if a value of the one kind may flow into the other; else what to add to the sentence. */
export function mismatch(given: SocketKind, wanted: SocketKind): string | null {
  if (wanted.anything || given.anything || open(given) || open(wanted)) return null;
  const problems = given.options.map((one) => {
    const reasons = wanted.options.map((other) => optionMismatch(one, other));
    return reasons.includes(null) ? null : (reasons.find((reason) => reason) ?? "");
  });
  return problems.find((problem) => problem !== null) ?? null;
}

const open = (kind: SocketKind) => kind.variable !== null && kind.options.length === 0;

function optionMismatch(given: SocketOption, wanted: SocketOption): string | null {
  if (given.label !== wanted.label) return "";
  if (given.dtype !== wanted.dtype) return `: the numbers are ${given.dtype ?? "none"}, not ${wanted.dtype ?? "none"}`;
  if (given.dims.length !== wanted.dims.length) return `: ${given.dims.length} sizes, not ${wanted.dims.length}`;
  const differs = given.dims.findIndex((dim, i) => isSize(dim) && isSize(wanted.dims[i]!) && dim !== wanted.dims[i]);
  return differs < 0 ? null : `: size ${differs + 1} is ${given.dims[differs]}, not ${wanted.dims[differs]}`;
}

const isSize = (dim: Dim): dim is number => typeof dim === "number";

function words(kind: SocketKind): string {
  if (kind.options.length === 0) return "anything";
  return kind.options.map(({ label, dtype, dims }) => (dtype ? `${label} ${dtype}[${dims.join(" ")}]` : label)).join(" or ");
}

/** What an output gives, with type variables and sizes filled in as far as the node and its links say. */
export function outputKind(workflow: Workflow, catalog: Catalog, id: string, socket: string, seen = new Set<string>()) {
  const entry = own(workflow.nodes, id);
  const output = entry && own(catalog.find(entry.type)?.outputs, socket);
  return output && filled(workflow, catalog, id, output, seen);
}

export function inputKind(workflow: Workflow, catalog: Catalog, id: string, socket: string, seen = new Set<string>()) {
  const entry = own(workflow.nodes, id);
  const input = entry && inputOf(catalog.find(entry.type), socket);
  return input && filled(workflow, catalog, id, input, seen);
}

function filled(workflow: Workflow, catalog: Catalog, id: string, kind: SocketKind, seen: Set<string>): SocketKind {
  const entry = own(workflow.nodes, id)!;
  if (kind.variable === null) return { ...kind, options: kind.options.map((option) => sized(entry, option)) };
  const key = `${id}<${kind.variable}`;
  if (seen.has(key)) return kind;
  seen.add(key);
  const type = catalog.find(entry.type);
  for (const socket of linkedInputs(entry)) {
    if (inputOf(type, socket)?.variable !== kind.variable) continue;
    for (const end of sources(entry, socket)) {
      const given = outputKind(workflow, catalog, end.node, end.socket, seen);
      if (given && given.options.length) return { ...kind, options: given.options };
    }
  }
  return kind;
}

/** Sizes in braces are the node's own widgets; those of a brain stay open. */
function sized(entry: NodeEntry, option: SocketOption): SocketOption {
  if (!option.dims.some((dim) => typeof dim === "string" && dim.startsWith("{"))) return option;
  const dims = option.dims.map((dim) => {
    const value = typeof dim === "string" && dim.startsWith("{") ? own(entry.set, dim.slice(1, -1)) : undefined;
    return typeof value === "number" ? value : dim;
  });
  return { ...option, dims };
}

/** Every loop crosses a register: the link is refused if it closes one that does not. */
function loops(workflow: Workflow, catalog: Catalog, { from, to }: Link): string | null {
  const isRegister = (id: string) => catalog.find(own(workflow.nodes, id)?.type ?? "")?.register === true;
  if (isRegister(to.node)) return null;
  const seen = new Set<string>();
  const waiting = [from.node];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === to.node) {
      const name = typeName(own(workflow.nodes, id)!.type);
      return `This link closes a loop through ${id} (${name}) within one tick. Put a Previous node into it: every loop crosses a register.`;
    }
    const entry = own(workflow.nodes, id);
    if (seen.has(id) || isRegister(id) || !entry) continue;
    seen.add(id);
    for (const socket of linkedInputs(entry)) waiting.push(...sources(entry, socket).map((end) => end.node));
  }
  return null;
}
