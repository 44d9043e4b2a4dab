/** Copy and paste. Nodes are copied as text, so they can be pasted in other tabs, or sent by e-mail. */

import { freeId, layoutEntry, withSources } from "./edits";
import { isObject, type Json, type JsonObject, own, same, withKey } from "./json";
import { freeName, neededBy } from "./subgraphs";
import type { Box, NodeEntry, Point, SocketRef, Workflow } from "./workflow";
import {
  formatSocketRef,
  linkedInputs,
  localId,
  positionOf,
  sources,
  styleOf,
  WHEN,
  WorkflowError,
  workflowFromJson,
} from "./workflow";

const KEY = "minibrains_nodes";
const STEP = 32;
const GAP = 16;

/** Return nodes as text, with the subgraphs that they need. Their ids, and those in links, are without a path. */
export function copyNodes(workflow: Workflow, ids: Iterable<string>): string {
  const wanted = new Set(ids);
  const local = (end: SocketRef): SocketRef => ({ ...end, node: localId(end.node) });
  const nodes: Record<string, NodeEntry> = {};
  const layout: Record<string, Json> = {};
  for (const [id, entry] of Object.entries(workflow.nodes)) {
    if (!wanted.has(id)) continue;
    nodes[localId(id)] = linkedInputs(entry).reduce((result, socket) => {
      const ends = sources(entry, socket);
      return ends.length ? withSources(result, socket, ends.map(local)) : result;
    }, entry);
    const at = own(workflow.layout, id);
    if (at !== undefined) layout[localId(id)] = at;
  }
  const defs = neededBy(workflow, nodes);
  return JSON.stringify({ [KEY]: 1, nodes, layout, ...(defs ? { defs } : {}) });
}

/** Parse the nodes, or the workflow, in a text from the clipboard; null if there are none. */
export function parseClipboard(text: string): Workflow | null {
  try {
    const data: unknown = JSON.parse(text);
    if (!isObject(data) || !(KEY in data || "minibrains" in data)) return null;
    return workflowFromJson({
      minibrains: 1,
      nodes: data.nodes ?? {},
      layout: data.layout ?? {},
      ...(data.defs ? { defs: data.defs } : {}),
    });
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof WorkflowError) return null;
    throw error;
  }
}

export interface Pasted {
  readonly workflow: Workflow;
  readonly ids: readonly string[];
}

/**
 * Add copied nodes with new ids, their upper left corner at `at`. Links among them are copied. Links from other nodes are
 * copied only with `connected`, and if the workflow has such a node.
 */
export function pasteNodes(
  workflow: Workflow,
  clip: Workflow,
  at: Point,
  connected = false,
): Pasted {
  const [defs, types] = withSubgraphs(workflow, clip);
  const taken = new Set<string>();
  const names = new Map<string, string>();
  for (const id of Object.keys(clip.nodes)) {
    const name = freeId(workflow, id, taken);
    taken.add(name);
    names.set(id, name);
  }
  const positions = Object.keys(clip.nodes).map(
    (id) => positionOf(clip, id)?.at ?? ([0, 0] as Point),
  );
  const left = Math.min(...positions.map(([x]) => x));
  const top = Math.min(...positions.map(([, y]) => y));
  const nodes: Record<string, NodeEntry>[] = [];
  const layout: Record<string, Json>[] = [];
  for (const [id, entry] of Object.entries(clip.nodes)) {
    const position = positionOf(clip, id);
    const [x, y] = position?.at ?? [left, top];
    const renamed = { ...entry, type: types.get(entry.type) ?? entry.type };
    nodes.push({ [names.get(id)!]: remapLinks(renamed, names, connected ? workflow : null) });
    layout.push({
      [names.get(id)!]: layoutEntry(
        [x - left + at[0], y - top + at[1]],
        position?.width,
        styleOf(clip, id),
      ),
    });
  }
  return {
    workflow: {
      ...workflow,
      nodes: merge(workflow.nodes, nodes),
      layout: merge(workflow.layout ?? {}, layout),
      ...(defs ? { defs } : {}),
    },
    ids: [...names.values()],
  };
}

/** Return the subgraphs of a workflow with those of a clip, and the new types of boxes, of which some have a new name. */
export function withSubgraphs(
  workflow: Workflow,
  clip: Workflow,
): readonly [Workflow["defs"], ReadonlyMap<string, string>] {
  const types = new Map<string, string>();
  const known = workflow.defs ?? {};
  const added = Object.entries(clip.defs ?? {}).filter(
    ([name, subgraph]) => !same(own(known, name), subgraph),
  );
  if (added.length === 0) return [workflow.defs, types];
  const taken = Object.keys(known);
  for (const [name] of added) {
    const free = freeName(name, taken);
    taken.push(free);
    types.set(`defs/${name}`, `defs/${free}`);
  }
  const defs = added.map(([name, subgraph]) => {
    const nodes = Object.entries(subgraph.nodes).map(
      ([id, entry]) => [id, { ...entry, type: types.get(entry.type) ?? entry.type }] as const,
    );
    const renamed = { ...subgraph, nodes: Object.fromEntries(nodes) };
    return [types.get(`defs/${name}`)!.slice("defs/".length), renamed] as const;
  });
  return [{ ...known, ...Object.fromEntries(defs) }, types];
}

/** Return a position near `near` for the upper left corner of these boxes, where they overlap no occupied one. */
export function findFreePosition(
  boxes: readonly Box[],
  occupied: readonly Box[],
  near: Point,
): Point {
  const left = Math.min(...boxes.map(([x]) => x));
  const top = Math.min(...boxes.map(([, y]) => y));
  const isFree = ([atX, atY]: Point) =>
    boxes.every(([x, y, w, h]) =>
      occupied.every(
        ([x2, y2, w2, h2]) =>
          x - left + atX + w + GAP <= x2 ||
          x2 + w2 + GAP <= x - left + atX ||
          y - top + atY + h + GAP <= y2 ||
          y2 + h2 + GAP <= y - top + atY,
      ),
    );
  for (let distance = 0; ; distance += STEP) {
    // ends, because far enough away everything is free
    for (const [dx, dy] of [
      [0, 1],
      [1, 0],
      [1, 1],
      [0, -1],
      [-1, 0],
    ] as const) {
      const at: Point = [near[0] + dx * distance, near[1] + dy * distance];
      if (isFree(at)) return at;
    }
  }
}

function merge<T>(
  first: Readonly<Record<string, T>>,
  more: readonly Record<string, T>[],
): Record<string, T> {
  return Object.fromEntries([
    ...Object.entries(first),
    ...more.flatMap((part) => Object.entries(part)),
  ]);
}

function remapLinks(
  entry: NodeEntry,
  names: ReadonlyMap<string, string>,
  outside: Workflow | null,
): NodeEntry {
  const ends = (socket: string) =>
    sources(entry, socket).flatMap((end) => {
      const inside = names.get(end.node);
      if (inside) return [formatSocketRef({ ...end, node: inside })];
      const node = (outside?.prefix ?? "") + end.node;
      return outside && Object.hasOwn(outside.nodes, node)
        ? [formatSocketRef({ ...end, node })]
        : [];
    });
  let result = entry;
  let inputs: JsonObject = isObject(entry.in) ? entry.in : {};
  for (const socket of linkedInputs(entry)) {
    const texts = ends(socket);
    const isList = Array.isArray(inputs[socket]) && texts.length > 0;
    if (socket === WHEN) result = withKey(result, WHEN, texts[0]);
    else inputs = withKey(inputs, socket, isList ? texts : texts[0]);
  }
  return withKey(result, "in", Object.keys(inputs).length ? inputs : undefined);
}
