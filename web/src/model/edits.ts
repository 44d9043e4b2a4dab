/** Edits: pure functions from a workflow to the next. Unchanged parts stay the same objects. */

import { isObject, type Json, own, same, withKey } from "./json";
import type {
  Box,
  Group,
  Link,
  Mode,
  NodeEntry,
  NodeStyle,
  Point,
  SocketRef,
  Workflow,
} from "./workflow";
import {
  formatSocketRef,
  groupsOf,
  linkedInputs,
  localId,
  parseSocketRef,
  positionOf,
  readGroup,
  sources,
  styleOf,
  typeName,
  WHEN,
} from "./workflow";

/** Return an unused id: the wanted one, or the same with a number. */
export function freeId(
  workflow: Workflow,
  wanted: string,
  taken: ReadonlySet<string> = new Set(),
): string {
  const prefix = workflow.prefix ?? "";
  const base =
    localId(wanted)
      .toLowerCase()
      .replace(/[^a-z0-9_]+/g, "_")
      .replace(/^_+|_+$/g, "") || "node";
  const isFree = (id: string) => !Object.hasOwn(workflow.nodes, id) && !taken.has(id);
  if (isFree(prefix + base)) return prefix + base;
  const stem = base.replace(/_?\d+$/, "") || base;
  for (let n = 2; ; n++) if (isFree(`${prefix}${stem}_${n}`)) return `${prefix}${stem}_${n}`;
}

/** Return an id for a new node of a type: "FrameStack@1" -> "frame_stack". */
export function idFor(workflow: Workflow, type: string): string {
  const name = typeName(type).split(".").at(-1)!;
  return freeId(workflow, name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}

export function editNode(
  workflow: Workflow,
  id: string,
  edit: (entry: NodeEntry) => NodeEntry,
): Workflow {
  const entry = own(workflow.nodes, id);
  if (!entry) return workflow;
  const edited = edit(entry);
  return same(edited, entry)
    ? workflow
    : { ...workflow, nodes: withKey(workflow.nodes, id, edited) };
}

/** Set a key of a node's entry (`every`, `brain`, …); undefined removes it. */
export function setKey(
  workflow: Workflow,
  id: string,
  key: string,
  value: Json | undefined,
): Workflow {
  return editNode(workflow, id, (entry) => withKey(entry, key, value));
}

/** Change the file of nodes' brains; pins are kept. */
export function moveBrain(workflow: Workflow, ids: Iterable<string>, file: string): Workflow {
  return [...ids].reduce(
    (result, id) =>
      editNode(result, id, (entry) => {
        const brain = isObject(entry.brain) ? { ...entry.brain, file } : file;
        return { ...entry, brain };
      }),
    workflow,
  );
}

/** Set a widget; undefined resets it to its default. */
export function setWidget(
  workflow: Workflow,
  id: string,
  name: string,
  value: Json | undefined,
): Workflow {
  return editNode(workflow, id, (entry) => {
    const set = withKey(isObject(entry.set) ? entry.set : {}, name, value);
    return withKey(entry, "set", Object.keys(set).length ? set : undefined);
  });
}

export function setMode(workflow: Workflow, ids: Iterable<string>, mode: Mode): Workflow {
  return [...ids].reduce(
    (result, id) => setKey(result, id, "mode", mode === "run" ? undefined : mode),
    workflow,
  );
}

export function addNode(workflow: Workflow, id: string, entry: NodeEntry, at: Point): Workflow {
  return {
    ...workflow,
    nodes: withKey(workflow.nodes, id, entry),
    layout: withKey(workflow.layout ?? {}, id, rounded(at)),
  };
}

/** Remove nodes, and all links from them. */
export function removeNodes(workflow: Workflow, ids: ReadonlySet<string>): Workflow {
  if (![...ids].some((id) => Object.hasOwn(workflow.nodes, id))) return workflow;
  const kept = Object.entries(workflow.nodes).filter(([id]) => !ids.has(id));
  const nodes = Object.fromEntries(
    kept.map(([id, entry]) => [id, withoutSources(entry, (end) => ids.has(end.node))]),
  );
  const layout = Object.fromEntries(
    Object.entries(workflow.layout ?? {}).filter(([id]) => !ids.has(id)),
  );
  const isGone = (node: string) => [...ids].some((id) => node === id || node.startsWith(`${id}/`));
  return withBreakpoints({ ...workflow, nodes, layout }, (node) => (isGone(node) ? null : node));
}

/** Rename the nodes of breakpoints, or remove those whose node becomes null. */
export function withBreakpoints(
  workflow: Workflow,
  rename: (node: string) => string | null,
): Workflow {
  if (!isObject(workflow.breakpoints)) return workflow;
  const kept = Object.entries(workflow.breakpoints).flatMap(([output, condition]) => {
    const end = parseSocketRef(output);
    if (end === null) return [[output, condition] as const];
    const node = rename(end.node);
    return node === null ? [] : [[formatSocketRef({ ...end, node }), condition] as const];
  });
  return withKey(workflow, "breakpoints", kept.length ? Object.fromEntries(kept) : undefined);
}

/** Set the condition on which a run is paused by an output; undefined removes it. */
export function setBreakpoint(
  workflow: Workflow,
  output: SocketRef,
  condition: string | undefined,
): Workflow {
  const before = isObject(workflow.breakpoints) ? workflow.breakpoints : {};
  const after = withKey(before, formatSocketRef(output), condition);
  if (same(before, after)) return workflow;
  return withKey(workflow, "breakpoints", Object.keys(after).length ? after : undefined);
}

function withoutSources(entry: NodeEntry, gone: (end: SocketRef) => boolean): NodeEntry {
  return linkedInputs(entry).reduce((result, socket) => {
    const before = sources(entry, socket);
    const after = before.filter((end) => !gone(end));
    return after.length === before.length ? result : withSources(result, socket, after);
  }, entry);
}

export function withSources(
  entry: NodeEntry,
  socket: string,
  ends: readonly SocketRef[],
): NodeEntry {
  const texts = ends.map(formatSocketRef);
  if (socket === WHEN) return withKey(entry, WHEN, texts[0] ?? null);
  const wasList = Array.isArray(own(entry.in, socket));
  const isList = texts.length > 1 || (wasList && texts.length > 0);
  const value = isList ? texts : texts[0];
  const inputs = withKey(isObject(entry.in) ? entry.in : {}, socket, value);
  return withKey(entry, "in", Object.keys(inputs).length ? inputs : undefined);
}

/** Link an output to an input. If the input takes only one link, this replaces it. */
export function addLink(workflow: Workflow, { from, to }: Link, many = false): Workflow {
  return editNode(workflow, to.node, (entry) => {
    const before = many ? sources(entry, to.socket) : [];
    if (before.some((end) => same(end, from))) return entry;
    if (!many) return withSources(entry, to.socket, [from]);
    return withKey(
      entry,
      "in",
      withKey(
        isObject(entry.in) ? entry.in : {},
        to.socket,
        [...before, from].map(formatSocketRef),
      ),
    );
  });
}

export function removeLink(workflow: Workflow, { from, to }: Link): Workflow {
  return editNode(workflow, to.node, (entry) =>
    withSources(
      entry,
      to.socket,
      sources(entry, to.socket).filter((end) => !same(end, from)),
    ),
  );
}

/** Set all links of an input. */
export function setSources(
  workflow: Workflow,
  to: SocketRef,
  ends: readonly SocketRef[],
): Workflow {
  return editNode(workflow, to.node, (entry) =>
    same(sources(entry, to.socket), ends) ? entry : withSources(entry, to.socket, ends),
  );
}

/** Insert a node into a link. */
export function insertOnLink(
  workflow: Workflow,
  link: Link,
  node: string,
  input: string,
  output: string,
  many = false,
): Workflow {
  const through = addLink(workflow, { from: link.from, to: { node, socket: input } });
  return addLink(removeLink(through, link), { from: { node, socket: output }, to: link.to }, many);
}

/** Rename a node, and change all links from it. */
export function renameNode(workflow: Workflow, id: string, wanted: string): Workflow {
  if (id === wanted || !Object.hasOwn(workflow.nodes, id) || Object.hasOwn(workflow.nodes, wanted))
    return workflow;
  const moved = (end: SocketRef): SocketRef => (end.node === id ? { ...end, node: wanted } : end);
  const nodes = Object.entries(workflow.nodes).map(([name, entry]) => {
    const linked = linkedInputs(entry).reduce((result, socket) => {
      const before = sources(entry, socket);
      return before.some((end) => end.node === id)
        ? withSources(result, socket, before.map(moved))
        : result;
    }, entry);
    return [name === id ? wanted : name, linked] as const;
  });
  const layout = Object.entries(workflow.layout ?? {}).map(
    ([name, at]) => [name === id ? wanted : name, at] as const,
  );
  const renamed = {
    ...workflow,
    nodes: Object.fromEntries(nodes),
    layout: Object.fromEntries(layout),
  };
  return withBreakpoints(renamed, (node) =>
    node === id || node.startsWith(`${id}/`) ? wanted + node.slice(id.length) : node,
  );
}

const rounded = (values: readonly number[]): number[] => values.map(Math.round);

/** Move nodes, and set widths where they are given. */
export function moveNodes(
  workflow: Workflow,
  positions: ReadonlyMap<string, { at: Point; width?: number | undefined }>,
): Workflow {
  let layout = workflow.layout ?? {};
  for (const [id, { at, width }] of positions) {
    const before = positionOf(workflow, id);
    const style = styleOf(workflow, id);
    const value = layoutEntry(at, width, style);
    if (before && same(layoutEntry(before.at, before.width, style), value)) continue;
    layout = withKey(layout, id, value);
  }
  return layout === workflow.layout ? workflow : { ...workflow, layout };
}

/** Change the styles of nodes, whose positions are given because the file may have none. */
export function setStyle(
  workflow: Workflow,
  positions: ReadonlyMap<string, Point>,
  change: Partial<NodeStyle>,
): Workflow {
  let layout = workflow.layout ?? {};
  for (const [id, at] of positions) {
    const style = { ...styleOf(workflow, id), ...change };
    layout = withKey(layout, id, layoutEntry(at, positionOf(workflow, id)?.width, style));
  }
  return same(layout, workflow.layout) ? workflow : { ...workflow, layout };
}

/** Return a node's entry in the layout: x, y, its width if it was set, and its style if it has one. */
export function layoutEntry(
  at: readonly number[],
  width: number | undefined,
  { colour, collapsed }: NodeStyle,
): Json[] {
  const [x, y] = rounded(at) as [number, number];
  if (colour || collapsed) {
    const style = { ...(colour ? { colour } : {}), ...(collapsed ? { collapsed } : {}) };
    return [x, y, width === undefined ? null : Math.round(width), style];
  }
  return width === undefined ? [x, y] : [x, y, Math.round(width)];
}

export function addGroup(
  workflow: Workflow,
  bounds: Box,
  { title, text, colour }: Omit<Group, "bounds">,
): Workflow {
  const group = {
    title,
    bounds: rounded(bounds),
    ...(text ? { text } : {}),
    ...(colour ? { colour } : {}),
  };
  return { ...workflow, groups: [...groupsOf(workflow), group] };
}

/** Change a group, or remove it with null. Its unknown keys are preserved. */
export function editGroup(
  workflow: Workflow,
  index: number,
  edit: Partial<Group> | null,
): Workflow {
  const groups = groupsOf(workflow);
  const before = groups[index];
  if (before === undefined || !isObject(before) || !readGroup(before)) return workflow;
  if (edit === null)
    return withKey(
      workflow,
      "groups",
      groups.length > 1 ? groups.filter((_, i) => i !== index) : undefined,
    );
  const changed = { ...before, ...edit, ...(edit.bounds ? { bounds: rounded(edit.bounds) } : {}) };
  const isLeftOut = ([key, value]: [string, unknown]) =>
    (key === "text" && value === "") || (key === "colour" && value === null);
  const after = Object.fromEntries(Object.entries(changed).filter((entry) => !isLeftOut(entry)));
  return same(before, after)
    ? workflow
    : { ...workflow, groups: groups.map((group, i) => (i === index ? after : group)) };
}
