/**
 * Nodes that the file replaces in one box alone: `"eyes/small": {…}` among its nodes. A command that changes a node inside
 * of a box leaves such an entry in the workflow of its run. The editor shows and changes the inside of a subgraph, so the box
 * gets a subgraph of its own here, which says the same.
 */

import { isObject, type Json, own, withKey } from "./json";
import { boxesOf, entryAt, freeName, subgraphAt, subgraphOf } from "./subgraphs";
import { localId, type NodeEntry, type Workflow } from "./workflow";

/** Return a workflow without entries for nodes of boxes. Those that are for no node of a box stay. */
export function withoutReplacedNodes(workflow: Workflow): Workflow {
  let result = workflow;
  for (const [path, entry] of Object.entries(workflow.nodes))
    if (path.includes("/")) result = withReplaced(result, path, entry);
  return result;
}

function withReplaced(whole: Workflow, path: string, replacement: NodeEntry): Workflow {
  let result: Workflow = { ...whole, nodes: withKey(whole.nodes, path, undefined) };
  const before = entryAt(result, path);
  if (!before) return whole;
  const boxes = boxesAround(path);
  for (const box of boxes) result = withOwnSubgraph(result, box);
  for (const box of boxes) result = withoutGiven(result, box, path);
  return withEntry(result, path, insideEntry(before, replacement, modeOf(result, boxes)));
}

/** Return the paths of the boxes around a node, from the outside in: "a/b/node" -> "a", "a/b". */
function boxesAround(path: string): readonly string[] {
  const ids = path.split("/");
  return ids.slice(1).map((_, i) => ids.slice(0, i + 1).join("/"));
}

/** Replace the entry at a path, in all boxes that share its subgraph. */
function withEntry(whole: Workflow, path: string, entry: NodeEntry): Workflow {
  const box = boxesAround(path).at(-1);
  if (box === undefined) return { ...whole, nodes: { ...whole.nodes, [path]: entry } };
  const name = subgraphAt(whole, box)!;
  const subgraph = whole.defs![name]!;
  const nodes = { ...subgraph.nodes, [localId(path)]: entry };
  return { ...whole, defs: { ...whole.defs, [name]: { ...subgraph, nodes } } };
}

/** Give the box at a path a copy of its subgraph, if other boxes have the same. */
function withOwnSubgraph(whole: Workflow, box: string): Workflow {
  const name = subgraphAt(whole, box)!;
  if (boxesOf(whole, name) === 1) return whole;
  const copy = freeName(name, Object.keys(whole.defs!));
  const defs = { ...whole.defs, [copy]: whole.defs![name]! };
  return withEntry({ ...whole, defs }, box, { ...entryAt(whole, box)!, type: `defs/${copy}` });
}

/** Remove the widgets and brains from a box that it would give to the node at a path. */
function withoutGiven(whole: Workflow, box: string, path: string): Workflow {
  let entry = entryAt(whole, box)!;
  const kept = (part: "widgets" | "brains", given: Json | undefined) => {
    if (!isObject(given)) return given;
    const others = Object.entries(given).filter(([key]) => !leadsTo(whole, box, part, key, path));
    return others.length ? Object.fromEntries(others) : undefined;
  };
  entry = withKey(entry, "set", kept("widgets", entry.set));
  entry = withKey(entry, "brains", kept("brains", entry.brains));
  return withEntry(whole, box, entry);
}

/** Return whether a widget or brain of a box is one of the node at a path. */
function leadsTo(
  whole: Workflow,
  box: string,
  part: "widgets" | "brains",
  key: string,
  path: string,
): boolean {
  const subgraph = subgraphOf(whole, entryAt(whole, box));
  const [node, inner] = (own(subgraph?.[part], key) ?? "").split(".");
  const at = `${box}/${node}`;
  if (at === path || inner === undefined) return at === path;
  return path.startsWith(`${at}/`) && leadsTo(whole, at, part, inner, path);
}

/** Return the mode that boxes give to a node that has none. */
function modeOf(whole: Workflow, boxes: readonly string[]): NodeEntry["mode"] {
  const modes = boxes.map((box) => entryAt(whole, box)!.mode ?? "run");
  return modes.reverse().find((mode) => mode !== "run");
}

/** Return the replacement as an entry of a subgraph: with the links that the node has there, and without what it gets. */
function insideEntry(
  before: NodeEntry,
  replacement: NodeEntry,
  given: NodeEntry["mode"],
): NodeEntry {
  let result = withKey(replacement, "in", before.in);
  result = withKey(result, "when", before.when);
  return replacement.mode === given ? withKey(result, "mode", before.mode) : result;
}
