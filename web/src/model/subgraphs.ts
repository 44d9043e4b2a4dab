/**
 * Boxes, and the subgraphs inside of them. The inside of a box is shown as a workflow of its own, whose nodes have their
 * full paths as ids, so that everything that the server says about them is found. Two more nodes stand for its border:
 * the outputs of one are the inputs of the box, the inputs of the other are its outputs.
 */

import { layoutEntry, withBreakpoints, withSources } from "./edits";
import { isObject, type Json, own, same, withKey } from "./json";
import {
  formatSocketRef,
  linkedInputs,
  localId,
  type NodeEntry,
  type Point,
  parseSocketRef,
  positionOf,
  type SocketRef,
  type Subgraph,
  sources,
  styleOf,
  WHEN,
  type Workflow,
} from "./workflow";

const TYPE = /^defs\/([a-z0-9_]+)$/;
const END = /^([a-z0-9_]+)\.([A-Za-z_][A-Za-z0-9_]*)(?:\.([0-9]+))?$/;
/** The socket of a border that becomes a new one when something is linked to it. */
export const NEW_SOCKET = "new_socket";
const IN = ":in";
const OUT = ":out";
const BORDER_GAP = 320;

/** Return whether a node stands for the border of the inside that is shown. */
export const isBorder = (id: string): boolean => id.endsWith(`/${IN}`) || id.endsWith(`/${OUT}`);

/** Return the name of the subgraph of a box; null if a type is not that of a box. */
export const subgraphName = (type: string): string | null => TYPE.exec(type)?.[1] ?? null;

/** Return the subgraph of a box; undefined if the node is not a box, or its subgraph is missing. */
export function subgraphOf(workflow: Workflow, entry: NodeEntry | undefined): Subgraph | undefined {
  const name = entry && subgraphName(entry.type);
  return name ? own(workflow.defs, name) : undefined;
}

/** An end of an input inside of a box. */
interface End extends SocketRef {
  /** The place among the links of that input; infinite: after all others. */
  readonly place: number;
}

/** Return the ends of an input of a subgraph, without those that cannot be read. */
export function endsOf(subgraph: Subgraph, input: string): readonly End[] {
  const texts = own(subgraph.inputs, input) ?? [];
  return (Array.isArray(texts) ? texts : [texts]).flatMap((text) => {
    const match = END.exec(text as string);
    if (!match) return [];
    return [
      {
        node: match[1]!,
        socket: match[2]!,
        place: match[3] ? Number(match[3]) : Number.POSITIVE_INFINITY,
      },
    ];
  });
}

/** Return the entry of the node at a path. */
export function entryAt(whole: Workflow, path: string): NodeEntry | undefined {
  let nodes: Workflow["nodes"] | undefined = whole.nodes;
  let entry: NodeEntry | undefined;
  for (const id of path.split("/")) {
    entry = own(nodes, id);
    nodes = subgraphOf(whole, entry)?.nodes;
  }
  return entry;
}

/** Return the name of the subgraph of the box at a path; null if there is none. */
export function subgraphAt(whole: Workflow, path: string): string | null {
  const entry = entryAt(whole, path);
  return subgraphOf(whole, entry) && entry ? subgraphName(entry.type) : null;
}

/** Return the number of boxes of a subgraph in a workflow, counting those inside of others once. */
export function boxesOf({ nodes, defs }: Workflow, name: string): number {
  const scopes = [nodes, ...Object.values(defs ?? {}).map((subgraph) => subgraph.nodes)];
  const all = scopes.flatMap((scope) => Object.values(scope));
  return all.filter(({ type }) => subgraphName(type) === name).length;
}

/** Return all nodes of a workflow by their paths, with those inside of boxes, but without the boxes. */
export function flatNodes(workflow: Workflow): ReadonlyMap<string, NodeEntry> {
  const found = new Map<string, NodeEntry>();
  const add = (nodes: Workflow["nodes"], prefix: string, within: readonly string[]) => {
    for (const [id, entry] of Object.entries(nodes)) {
      const name = subgraphName(entry.type);
      const subgraph = name ? own(workflow.defs, name) : undefined;
      if (!name) found.set(prefix + id, entry);
      else if (subgraph && !within.includes(name))
        add(subgraph.nodes, `${prefix}${id}/`, [...within, name]);
    }
  };
  add(workflow.nodes, "", []);
  return found;
}

/** Return the output of a node that an output stands for, which may be that of a box. */
export function resolveOutput(workflow: Workflow, output: SocketRef): SocketRef {
  let end = output;
  let nodes = workflow.nodes;
  let id = output.node;
  for (;;) {
    const subgraph = subgraphOf(workflow, own(nodes, id));
    const inner = subgraph && parseSocketRef(own(subgraph.outputs, end.socket));
    if (!inner) return end;
    nodes = subgraph.nodes;
    id = inner.node;
    end = { node: `${end.node}/${inner.node}`, socket: inner.socket };
  }
}

/** Return the output that feeds an input of the box at a path, wherever it is; null if none does. */
export function feedOf(whole: Workflow, path: string, input: string): SocketRef | null {
  const parent = path.split("/").slice(0, -1).join("/");
  const around = parent ? insideOf(whole, parent) : whole;
  const entry = own(around?.nodes, path);
  const source = entry && sources(entry, input)[0];
  if (!around || !source) return null;
  if (isBorder(source.node)) return feedOf(whole, parent, source.socket);
  return resolveOutput(around, source);
}

/**
 * Return the outputs of nodes whose values are shown at boxes and at the border of the inside that is shown: "node.output"
 * that is shown -> "node.output" that the server knows.
 */
export function shownOutputs(whole: Workflow, shown: Workflow): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [node, entry] of Object.entries(shown.nodes))
    for (const socket of Object.keys(subgraphOf(shown, entry)?.outputs ?? {}))
      found.set(`${node}.${socket}`, formatSocketRef(resolveOutput(shown, { node, socket })));
  if (!shown.prefix) return found;
  const path = shown.prefix.slice(0, -1);
  const name = subgraphAt(whole, path);
  for (const input of Object.keys((name && own(whole.defs, name)?.inputs) || {})) {
    const feed = feedOf(whole, path, input);
    if (feed) found.set(`${shown.prefix}${IN}.${input}`, formatSocketRef(feed));
  }
  return found;
}

const mapSources = (entry: NodeEntry, follow: (end: SocketRef) => SocketRef): NodeEntry =>
  linkedInputs(entry).reduce((result, socket) => {
    const before = sources(entry, socket);
    return before.length ? withSources(result, socket, before.map(follow)) : result;
  }, entry);

const mapKeys = <T>(
  object: Readonly<Record<string, T>> | undefined,
  rename: (key: string) => string,
): Record<string, T> =>
  Object.fromEntries(Object.entries(object ?? {}).map(([key, value]) => [rename(key), value]));

/** Insert links into those of an input. */
function withInserted(
  entry: NodeEntry,
  socket: string,
  added: readonly { end: SocketRef; place: number }[],
): NodeEntry {
  const ends = [...sources(entry, socket)];
  for (const { end, place } of [...added].sort((a, b) => a.place - b.place))
    ends.splice(Math.min(place, ends.length), 0, end);
  return withSources(entry, socket, ends);
}

/** Return the inside of the box at a path, as a workflow; null if there is no box. */
export function insideOf(whole: Workflow, path: string): Workflow | null {
  const name = subgraphAt(whole, path);
  if (name === null) return null;
  const subgraph = whole.defs![name]!;
  const prefix = `${path}/`;
  const down = (end: SocketRef): SocketRef => ({ ...end, node: prefix + end.node });
  const nodes: Record<string, NodeEntry> = {};
  for (const [id, entry] of Object.entries(subgraph.nodes))
    nodes[prefix + id] = mapSources(entry, down);
  const fed = new Map<string, { end: SocketRef; place: number }[]>();
  for (const input of Object.keys(subgraph.inputs ?? {}))
    for (const { node, socket, place } of endsOf(subgraph, input)) {
      const key = `${node}.${socket}`;
      const end = { node: prefix + IN, socket: input };
      fed.set(key, [...(fed.get(key) ?? []), { end, place }]);
    }
  for (const [key, added] of fed) {
    const { node, socket } = parseSocketRef(key)!;
    const entry = nodes[prefix + node];
    if (entry) nodes[prefix + node] = withInserted(entry, socket, added);
  }
  const outputs = Object.entries(subgraph.outputs ?? {}).flatMap(([output, text]) => {
    const end = parseSocketRef(text);
    return end ? [[output, formatSocketRef(down(end))] as const] : [];
  });
  nodes[prefix + IN] = { type: `defs/${name}#in`, title: "Inputs" };
  nodes[prefix + OUT] = {
    type: `defs/${name}#out`,
    title: "Outputs",
    in: Object.fromEntries(outputs),
  };
  const { groups: _groups, ...others } = whole;
  const inside: Workflow = {
    ...others,
    nodes,
    layout: mapKeys(subgraph.layout, (id) => prefix + id),
    ...(subgraph.groups ? { groups: subgraph.groups } : {}),
    prefix,
  };
  return withBorderPlaced(inside);
}

/** Give positions to the nodes of the border that have none: left and right of the others. */
function withBorderPlaced(inside: Workflow): Workflow {
  const places = Object.keys(inside.nodes).flatMap((id) => positionOf(inside, id)?.at ?? []);
  const xs = places.filter((_, i) => i % 2 === 0);
  const ys = places.filter((_, i) => i % 2 === 1);
  const [left, right] = xs.length ? [Math.min(...xs), Math.max(...xs)] : [BORDER_GAP, 0];
  const top = ys.length ? Math.min(...ys) : 0;
  const placed: Record<string, Json> = {
    [inside.prefix + IN]: [left - BORDER_GAP, top],
    [inside.prefix + OUT]: [right + BORDER_GAP, top],
  };
  return { ...inside, layout: { ...placed, ...inside.layout } };
}

/** Return an unused name: the wanted one, or the same with a number. */
export function freeName(wanted: string, taken: readonly string[]): string {
  const base = wanted === WHEN || wanted === NEW_SOCKET ? "input" : wanted;
  if (!taken.includes(base)) return base;
  for (let n = 2; ; n++) if (!taken.includes(`${base}_${n}`)) return `${base}_${n}`;
}

/**
 * Return the whole workflow with a changed inside of the box at a path, for all boxes of that subgraph.
 *
 * `renamed` has the old and the new path of a node that was renamed.
 */
export function withInside(
  whole: Workflow,
  path: string,
  inside: Workflow,
  renamed: readonly [string, string] | null = null,
): Workflow {
  const name = subgraphAt(whole, path);
  if (name === null) return whole;
  const before = own(inside.defs, name) ?? whole.defs![name]!;
  const prefix = `${path}/`;
  const up = (end: SocketRef): SocketRef => ({ ...end, node: end.node.slice(prefix.length) });
  const fed = new Map<string, string[]>(Object.keys(before.inputs ?? {}).map((key) => [key, []]));
  const inputOfBorder = (wanted: string, socket: string): string => {
    if (wanted !== NEW_SOCKET) return wanted;
    const base = socket === WHEN ? "clock" : socket;
    return freeName(base, [...fed.keys()]);
  };
  const nodes: Record<string, NodeEntry> = {};
  for (const [id, entry] of Object.entries(inside.nodes)) {
    if (isBorder(id)) continue;
    const local = id.slice(prefix.length);
    let own_ = entry;
    for (const socket of linkedInputs(entry)) {
      const links = sources(entry, socket);
      const isFed = links.some((end) => end.node === prefix + IN);
      links.forEach((end, i) => {
        if (end.node !== prefix + IN) return;
        const input = inputOfBorder(end.socket, socket);
        const place = links.length > 1 ? `.${i}` : "";
        fed.set(input, [...(fed.get(input) ?? []), `${local}.${socket}${place}`]);
      });
      const kept = links.filter((end) => end.node !== prefix + IN).map(up);
      if (socket === WHEN && isFed) own_ = withKey(own_, WHEN, undefined);
      else if (links.length) own_ = withSources(own_, socket, kept);
    }
    nodes[local] = own_;
  }
  const outputs: Record<string, string> = {};
  const border = inside.nodes[prefix + OUT];
  for (const output of border ? linkedInputs(border) : []) {
    const end = sources(border!, output)[0];
    if (!end || end.node === prefix + IN) continue;
    const isNew = output === NEW_SOCKET;
    const key = isNew ? freeName(end.socket, Object.keys(border!.in ?? {})) : output;
    outputs[key] = formatSocketRef(up(end));
  }
  const follow = (text: string): string | null => {
    const [node, ...rest] = text.split(".");
    const id = renamed && prefix + node === renamed[0] ? localId(renamed[1]) : node!;
    return Object.hasOwn(nodes, id) ? [id, ...rest].join(".") : null;
  };
  const followed = (ends: Readonly<Record<string, string>> | undefined) => {
    const found = Object.entries(ends ?? {}).flatMap(([key, text]) => {
      const now = follow(text);
      return now === null ? [] : [[key, now] as const];
    });
    return found.length ? Object.fromEntries(found) : undefined;
  };
  const inputs = Object.fromEntries(
    [...fed].map(([key, texts]) => [key, texts.length === 1 ? texts[0]! : texts]),
  );
  const parts = {
    nodes,
    inputs: Object.keys(inputs).length ? inputs : undefined,
    outputs: Object.keys(outputs).length ? outputs : undefined,
    widgets: followed(before.widgets),
    brains: followed(before.brains),
    layout: mapKeys(inside.layout, (id) => id.slice(prefix.length)),
    groups: inside.groups,
  };
  let subgraph = before;
  for (const [key, value] of Object.entries(parts)) subgraph = withKey(subgraph, key, value);
  let result: Workflow = { ...whole, defs: withKey(inside.defs ?? {}, name, subgraph) };
  for (const key of ["title", "description", "run", "breakpoints"] as const)
    result = withKey(result, key, inside[key]);
  return same(result, whole) ? whole : result;
}

/** Remove the subgraphs that no box uses any more. */
export function withoutUnused(whole: Workflow): Workflow {
  if (!whole.defs) return whole;
  const used = new Set<string>();
  const visit = (nodes: Workflow["nodes"]) => {
    for (const { type } of Object.values(nodes)) {
      const name = subgraphName(type);
      if (!name || used.has(name)) continue;
      used.add(name);
      visit(own(whole.defs, name)?.nodes ?? {});
    }
  };
  visit(whole.nodes);
  const kept = Object.entries(whole.defs).filter(([name]) => used.has(name));
  if (kept.length === Object.keys(whole.defs).length) return whole;
  return withKey(whole, "defs", kept.length ? Object.fromEntries(kept) : undefined);
}

/** Return the subgraphs that these nodes need, with those inside of them. */
export function neededBy(workflow: Workflow, nodes: Workflow["nodes"]): Workflow["defs"] {
  return withoutUnused({ minibrains: 1, nodes, ...(workflow.defs ? { defs: workflow.defs } : {}) })
    .defs;
}

/** Return a name for a new subgraph: "Two eyes" -> "two_eyes". */
export const subgraphNameFor = (workflow: Workflow, title: string): string =>
  freeName(
    title
      .toLowerCase()
      .replace(/[^a-z0-9_]+/g, "_")
      .replace(/^_+|_+$/g, "") || "box",
    Object.keys(workflow.defs ?? {}),
  );

/** Put nodes into a new box, of a new subgraph. Wires that cross its border become sockets. */
export function makeBox(
  workflow: Workflow,
  selected: readonly string[],
  id: string,
  title: string,
): Workflow {
  const inside = new Set(selected);
  const name = subgraphNameFor(workflow, title);
  const local = (end: SocketRef): SocketRef => ({ ...end, node: localId(end.node) });
  const inputs = new Map<string, { source: SocketRef; ends: string[] }>();
  const outputs = new Map<string, SocketRef>();
  const enter = (source: SocketRef, end: string, wanted: string) => {
    const known = [...inputs.values()].find((each) => same(each.source, source));
    if (known) known.ends.push(end);
    else inputs.set(freeName(wanted, [...inputs.keys()]), { source, ends: [end] });
  };
  const leave = (end: SocketRef): SocketRef => {
    if (!inside.has(end.node)) return end;
    let output = [...outputs].find(([, source]) => same(source, local(end)))?.[0];
    output ??= freeName(end.socket, [...outputs.keys()]);
    outputs.set(output, local(end));
    return { node: id, socket: output };
  };
  const inner: Record<string, NodeEntry> = {};
  const nodes: Record<string, NodeEntry> = {};
  for (const [node, entry] of Object.entries(workflow.nodes)) {
    if (!inside.has(node)) {
      nodes[node] = mapSources(entry, leave);
      continue;
    }
    let own_ = entry;
    for (const socket of linkedInputs(entry)) {
      const links = sources(entry, socket);
      links.forEach((source, i) => {
        if (inside.has(source.node)) return;
        const place = links.length > 1 ? `.${i}` : "";
        const wanted = socket === WHEN ? "clock" : socket;
        enter(source, `${localId(node)}.${socket}${place}`, wanted);
      });
      const kept = links.filter((end) => inside.has(end.node)).map(local);
      if (socket === WHEN && links.length && !kept.length) own_ = withKey(own_, WHEN, undefined);
      else if (links.length) own_ = withSources(own_, socket, kept);
    }
    inner[localId(node)] = own_;
    nodes[id] ??= { type: "" };
  }
  const links = [...inputs].map(([key, { source }]) => [key, formatSocketRef(source)] as const);
  nodes[id] = {
    type: `defs/${name}`,
    title,
    ...(links.length ? { in: Object.fromEntries(links) } : {}),
  };
  const places = selected.map((node) => positionOf(workflow, node)?.at ?? ([0, 0] as Point));
  const left = Math.min(...places.map(([x]) => x));
  const top = Math.min(...places.map(([, y]) => y));
  const layout: Record<string, Json> = {};
  const innerLayout: Record<string, Json> = {};
  for (const [node, value] of Object.entries(workflow.layout ?? {})) {
    if (!inside.has(node)) layout[node] = value;
    const position = positionOf(workflow, node);
    if (!inside.has(node) || !position) continue;
    const at: Point = [position.at[0] - left, position.at[1] - top];
    innerLayout[localId(node)] = layoutEntry(at, position.width, styleOf(workflow, node));
  }
  layout[id] = [left, top];
  const subgraph: Subgraph = {
    title,
    version: 1,
    nodes: inner,
    ...(inputs.size
      ? {
          inputs: Object.fromEntries(
            [...inputs].map(([key, { ends }]) => [key, ends.length === 1 ? ends[0]! : ends]),
          ),
        }
      : {}),
    ...(outputs.size
      ? {
          outputs: Object.fromEntries(
            [...outputs].map(([key, end]) => [key, formatSocketRef(end)]),
          ),
        }
      : {}),
    layout: innerLayout,
  };
  const result = { ...workflow, nodes, layout, defs: { ...workflow.defs, [name]: subgraph } };
  return withBreakpoints(result, (node) => {
    const root = selected.find((each) => node === each || node.startsWith(`${each}/`));
    return root === undefined ? node : `${id}/${localId(root)}${node.slice(root.length)}`;
  });
}

/** Put the nodes of a box in its place. Returns the workflow, and the ids of these nodes. */
export function unpackBox(
  workflow: Workflow,
  box: string,
  freeId: (wanted: string, taken: ReadonlySet<string>) => string,
): { readonly workflow: Workflow; readonly ids: readonly string[] } {
  const entry = own(workflow.nodes, box);
  const subgraph = subgraphOf(workflow, entry);
  if (!entry || !subgraph) return { workflow, ids: [] };
  const ids = new Map<string, string>();
  for (const local of Object.keys(subgraph.nodes)) {
    const taken = new Set(ids.values());
    ids.set(local, freeId(local, taken));
  }
  const out = (end: SocketRef): SocketRef => ({ ...end, node: ids.get(end.node) ?? end.node });
  const inner: Record<string, NodeEntry> = {};
  for (const [local, own_] of Object.entries(subgraph.nodes)) {
    let result = mapSources(own_, out);
    if (typeof entry.when === "string" && result.when === undefined)
      result = { ...result, when: entry.when };
    if (entry.mode && entry.mode !== "run" && !result.mode)
      result = { ...result, mode: entry.mode };
    inner[local] = result;
  }
  const fed = new Map<string, { end: SocketRef; place: number }[]>();
  for (const input of linkedInputs(entry).filter((each) => each !== WHEN))
    for (const { node, socket, place } of endsOf(subgraph, input))
      for (const end of sources(entry, input)) {
        const key = `${node}.${socket}`;
        fed.set(key, [...(fed.get(key) ?? []), { end, place }]);
      }
  for (const [key, added] of fed) {
    const { node, socket } = parseSocketRef(key)!;
    if (inner[node]) inner[node] = withInserted(inner[node]!, socket, added);
  }
  for (const [widget, value] of Object.entries(isObject(entry.set) ? entry.set : {})) {
    const end = parseSocketRef(own(subgraph.widgets, widget));
    const target = end && inner[end.node];
    if (target)
      inner[end.node] = { ...target, set: { ...(target.set ?? {}), [end.socket]: value } };
  }
  const given = entry.brains;
  for (const [brain, file] of Object.entries(isObject(given) ? given : {})) {
    const [node, inBox] = (own(subgraph.brains, brain) ?? "").split(".");
    const target = inner[node!];
    if (!target) continue;
    const { brains } = target;
    const changed = inBox
      ? { brains: { ...(isObject(brains) ? brains : {}), [inBox]: file } }
      : { brain: file };
    inner[node!] = { ...target, ...changed } as NodeEntry;
  }
  const nodes: Record<string, NodeEntry> = {};
  const follow = (end: SocketRef): SocketRef => {
    const source = end.node === box && parseSocketRef(own(subgraph.outputs, end.socket));
    return source ? out(source) : end;
  };
  for (const [id, other] of Object.entries(workflow.nodes)) {
    if (id !== box) nodes[id] = mapSources(other, follow);
    else for (const [local, each] of Object.entries(inner)) nodes[ids.get(local)!] = each;
  }
  const inside: Workflow = { minibrains: 1, nodes: {}, layout: subgraph.layout ?? {} };
  const at = positionOf(workflow, box)?.at ?? [0, 0];
  const places = [...ids.keys()].flatMap((id) => {
    const position = positionOf(inside, id);
    return position ? [position.at] : [];
  });
  const left = Math.min(...places.map(([x]) => x));
  const top = Math.min(...places.map(([, y]) => y));
  let layout = withKey(workflow.layout ?? {}, box, undefined);
  for (const [local, id] of ids) {
    const position = positionOf(inside, local);
    if (!position) continue;
    const place: Point = [position.at[0] - left + at[0], position.at[1] - top + at[1]];
    layout = withKey(layout, id, layoutEntry(place, position.width, styleOf(inside, local)));
  }
  const result = withBreakpoints({ ...workflow, nodes, layout }, (node) => {
    if (!node.startsWith(`${box}/`)) return node;
    const [local, ...rest] = node.slice(box.length + 1).split("/");
    return [ids.get(local!) ?? local, ...rest].join("/");
  });
  return { workflow: result, ids: [...ids.values()] };
}

/** Change the entries of all nodes, also inside of boxes. `boxes` are the ids beside a node of boxes of a subgraph. */
function mapBoxes(
  whole: Workflow,
  name: string,
  change: (entry: NodeEntry, isBox: boolean, boxes: ReadonlySet<string>) => NodeEntry,
): Workflow {
  const inScope = (nodes: Workflow["nodes"]): Workflow["nodes"] => {
    const boxes = new Set(
      Object.keys(nodes).filter((id) => subgraphName(nodes[id]!.type) === name),
    );
    const changed = Object.entries(nodes).map(
      ([id, entry]) => [id, change(entry, boxes.has(id), boxes)] as const,
    );
    return boxes.size ? Object.fromEntries(changed) : nodes;
  };
  const defs = Object.entries(whole.defs ?? {}).map(
    ([key, subgraph]) => [key, { ...subgraph, nodes: inScope(subgraph.nodes) }] as const,
  );
  return { ...whole, nodes: inScope(whole.nodes), defs: Object.fromEntries(defs) };
}

export type Part = "inputs" | "outputs" | "widgets" | "brains";

/** Rename an input, an output, a widget or a brain of a subgraph, or remove it with null, with what leads to it. */
export function renamePart(
  whole: Workflow,
  name: string,
  part: Part,
  from: string,
  to: string | null,
): Workflow {
  const renamed = (parts: Readonly<Record<string, Json>>): Record<string, Json> => {
    const result: Record<string, Json> = {};
    for (const [key, value] of Object.entries(parts)) {
      if (key !== from) result[key] = value;
      else if (to !== null) result[to] = value;
    }
    return result;
  };
  const key = { inputs: "in", outputs: null, widgets: "set", brains: "brains" }[part];
  const changed = mapBoxes(whole, name, (entry, isBox, boxes) => {
    let result = entry;
    const values = key ? (entry as unknown as Record<string, Json>)[key] : null;
    if (isBox && key && isObject(values)) result = withKey(entry, key, renamed(values));
    if (part !== "outputs") return result;
    return linkedInputs(entry).reduce((done, socket) => {
      const before = sources(entry, socket);
      const isMeant = (end: SocketRef) => boxes.has(end.node) && end.socket === from;
      if (!before.some(isMeant)) return done;
      const after = before.flatMap((end) => {
        if (!isMeant(end)) return [end];
        return to === null ? [] : [{ ...end, socket: to }];
      });
      return withSources(done, socket, after);
    }, result);
  });
  const defs = Object.entries(changed.defs ?? {}).map(([each, subgraph]) => {
    // the ends of outer subgraphs that lead to their boxes of this one
    const boxes = Object.keys(subgraph.nodes).filter(
      (id) => subgraphName(subgraph.nodes[id]!.type) === name,
    );
    const follow = (text: string): string | null => {
      const box = boxes.find((id) => text === `${id}.${from}` || text.startsWith(`${id}.${from}.`));
      if (box === undefined) return text;
      return to === null ? null : `${box}.${to}${text.slice(`${box}.${from}`.length)}`;
    };
    const own_: Record<string, Json> = {};
    for (const [end, texts] of Object.entries(subgraph[part] ?? {})) {
      const isList = typeof texts !== "string";
      const kept = (isList ? (texts as readonly string[]) : [texts]).flatMap(
        (text) => follow(text) ?? [],
      );
      if (isList) own_[end] = kept;
      else if (kept.length) own_[end] = kept[0]!;
    }
    const parts = each === name ? renamed(own_) : own_;
    const value = Object.keys(parts).length ? parts : undefined;
    return [each, boxes.length || each === name ? withKey(subgraph, part, value) : subgraph];
  });
  return { ...changed, defs: Object.fromEntries(defs) as NonNullable<Workflow["defs"]> };
}

/** Show a widget of a node on the boxes of its subgraph, or no longer. */
export function showWidget(
  whole: Workflow,
  name: string,
  node: string,
  widget: string,
  isShown: boolean,
): Workflow {
  const subgraph = own(whole.defs, name);
  if (!subgraph) return whole;
  const end = `${node}.${widget}`;
  const shown = Object.entries(subgraph.widgets ?? {}).find(([, text]) => text === end)?.[0];
  if (isShown === (shown !== undefined)) return whole;
  if (shown !== undefined) return renamePart(whole, name, "widgets", shown, null);
  const taken = Object.keys(subgraph.widgets ?? {});
  const key = taken.includes(widget) ? freeName(`${node}_${widget}`, taken) : widget;
  const changed = { ...subgraph, widgets: { ...subgraph.widgets, [key]: end } };
  return { ...whole, defs: { ...whole.defs, [name]: changed } };
}
