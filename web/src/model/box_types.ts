/** The types of boxes, and of the border of their inside, which follow from the nodes inside of them. */

import type { BoxTypes, Input, NodeType, Output, SocketKind, Widget } from "./catalog";
import { BOX, inputOf } from "./catalog";
import { isObject, own } from "./json";
import { endsOf, NEW_SOCKET } from "./subgraphs";
import { type NodeEntry, parseSocketRef, type Subgraph, type Workflow } from "./workflow";

type Find = (type: string) => NodeType | undefined;

const ANYTHING: SocketKind = { kind: "anything", options: [], variable: null, anything: true };
const INPUT = { reading: "last", many: false, required: false } as const;
const OUTPUT = { absent: false, lazy: false } as const;
const NEW = "link something here to make a socket of the box";

/** Return the types of the boxes of a workflow. */
export function boxTypes(defs: Workflow["defs"]): BoxTypes {
  return (type, find) => {
    const [name, border] = type.slice("defs/".length).split("#");
    const subgraph = own(defs, name!);
    if (!subgraph) return undefined;
    if (border === "in") return inputsOf(type, subgraph, find);
    if (border === "out") return outputsOf(type, subgraph, find);
    return boxType(type, subgraph, find);
  };
}

const base = (type: string, summary: string): NodeType => ({
  type,
  category: BOX,
  summary,
  doc: "",
  inputs: {},
  outputs: {},
  widgets: {},
  brain: null,
  register: false,
  console: false,
  external: false,
  every_tick: false,
  background: null,
});

function boxType(type: string, subgraph: Subgraph, find: Find): NodeType {
  return {
    ...base(
      type,
      subgraph.description || "A box of nodes. Open it with a double click, or press O.",
    ),
    inputs: inputs(subgraph, find),
    outputs: outputs(subgraph, find),
    widgets: widgets(subgraph, find),
  };
}

function inputsOf(type: string, subgraph: Subgraph, find: Find): NodeType {
  const found: Record<string, Output> = {};
  for (const [name, input] of Object.entries(inputs(subgraph, find)))
    found[name] = { ...kindOf(input), ...OUTPUT, doc: input.doc };
  found[NEW_SOCKET] = { ...ANYTHING, ...OUTPUT, doc: NEW };
  return { ...base(type, "The inputs of the box, as its nodes see them."), outputs: found };
}

function outputsOf(type: string, subgraph: Subgraph, find: Find): NodeType {
  const found: Record<string, Input> = {};
  for (const [name, output] of Object.entries(outputs(subgraph, find)))
    found[name] = { ...kindOf(output), ...INPUT, doc: output.doc };
  found[NEW_SOCKET] = { ...ANYTHING, ...INPUT, doc: NEW };
  return { ...base(type, "The outputs of the box."), inputs: found };
}

const kindOf = ({ kind, options, variable, anything }: SocketKind): SocketKind => ({
  kind,
  options,
  variable,
  anything,
});

function inputs(subgraph: Subgraph, find: Find): Record<string, Input> {
  const found: Record<string, Input> = {};
  for (const name of Object.keys(subgraph.inputs ?? {})) {
    const ends = endsOf(subgraph, name).flatMap(({ node, socket }) => {
      const entry = own(subgraph.nodes, node);
      return (entry && inputOf(find(entry.type), socket)) ?? [];
    });
    const first = ends[0] ?? { ...ANYTHING, ...INPUT, doc: "" };
    found[name] = {
      ...first,
      many: ends.length > 0 && ends.every((end) => end.many),
      required: ends.some((end) => end.required),
    };
  }
  return found;
}

/** The node inside that a socket or a widget of a subgraph leads to, and its name there. */
function findEnd(subgraph: Subgraph, text: string): { entry: NodeEntry; socket: string } | null {
  const end = parseSocketRef(text);
  const entry = end && own(subgraph.nodes, end.node);
  return entry ? { entry, socket: end.socket } : null;
}

function outputs(subgraph: Subgraph, find: Find): Record<string, Output> {
  const found: Record<string, Output> = {};
  for (const [name, text] of Object.entries(subgraph.outputs ?? {})) {
    const end = findEnd(subgraph, text);
    const output = end ? own(find(end.entry.type)?.outputs, end.socket) : undefined;
    found[name] = output ?? { ...ANYTHING, ...OUTPUT, doc: "" };
  }
  return found;
}

function widgets(subgraph: Subgraph, find: Find): Record<string, Widget> {
  const found: Record<string, Widget> = {};
  for (const [name, text] of Object.entries(subgraph.widgets ?? {})) {
    const end = findEnd(subgraph, text);
    const widget = end ? own(find(end.entry.type)?.widgets, end.socket) : undefined;
    if (!widget || !end) continue;
    const set = isObject(end.entry.set) ? own(end.entry.set, end.socket) : undefined;
    // without a value of the box, that of the node inside holds
    found[name] = set === undefined ? widget : { ...widget, default: set, required: false };
  }
  return found;
}
