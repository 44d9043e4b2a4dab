/** The positions of a node's parts, relative to the node. Used for painting, hit tests and links. */

import {
  type Catalog,
  hasFrame,
  type Input,
  inputOf,
  isReroute,
  isScreen,
  type NodeType,
  type Output,
} from "../model/catalog";
import { isObject, type Json, own } from "../model/json";
import {
  type Box,
  brainFile,
  linkedInputs,
  type NodeEntry,
  positionOf,
  sources,
  styleOf,
  WHEN,
  type Workflow,
} from "../model/workflow";

export const HEADER = 34;
export const ROW = 24;
const PADDING = 8;
const DEFAULT_WIDTH = 208;
const SCREEN_WIDTH = 288;
export const MIN_WIDTH = 144;
const SCREEN_ASPECT = 0.7;
const MAX_UNSET_WIDGETS = 3;
const PHASE_NAMES_HEIGHT = 18;

export interface Port {
  readonly name: string;
  /** Index among the links of an input that takes many. The port after the last link is free. */
  readonly index: number;
  readonly y: number;
  readonly socket: Input | Output | undefined;
  readonly many: boolean;
}

export interface WidgetRow {
  readonly name: string;
  readonly y: number;
  readonly value: Json | undefined;
  readonly isSet: boolean;
}

export interface NodeShape {
  readonly width: number;
  readonly height: number;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly rows: readonly WidgetRow[];
  readonly brain: {
    readonly y: number;
    readonly file: string | null;
    readonly required: boolean;
  } | null;
  readonly screen: Box | null;
  /** The area of a register with its sockets: inputs are latched at the end of a tick, outputs emitted at its start. */
  readonly registerArea: { readonly y: number; readonly height: number } | null;
  readonly reroute: boolean;
  /** Only its header is shown, where all of its wires begin and end. */
  readonly collapsed: boolean;
}

export function shapeOf(
  entry: NodeEntry,
  type: NodeType | undefined,
  givenWidth: number | undefined,
  usedOutputs: readonly string[],
  collapsed: boolean,
): NodeShape {
  if (isReroute(type)) return rerouteShape(type!);
  if (collapsed) return collapsedShape(entry, type, givenWidth ?? DEFAULT_WIDTH, usedOutputs);
  const screen = type !== undefined && isScreen(type);
  const width = Math.max(givenWidth ?? (screen ? SCREEN_WIDTH : DEFAULT_WIDTH), MIN_WIDTH);
  let y = HEADER + (screen ? 0 : PADDING / 2);
  let screenBox: Box | null = null;
  if (screen) {
    screenBox = [
      PADDING,
      y,
      width - 2 * PADDING,
      Math.round((width - 2 * PADDING) * SCREEN_ASPECT),
    ];
    y += screenBox[3] + PADDING;
  }
  const registerTop = y;
  if (type?.register) y += PHASE_NAMES_HEIGHT;
  const inputs = inputPorts(entry, type, y);
  const outputs = outputPorts(type, usedOutputs, y);
  y += Math.max(inputs.length, outputs.length) * ROW;
  const registerArea = type?.register ? { y: registerTop, height: y - registerTop + 2 } : null;
  if (registerArea) y += 6;
  const rows = widgetRows(entry, type, y);
  y += rows.length * ROW;
  const file = brainFile(entry);
  const brain =
    type?.brain || file ? { y: y + 2, file, required: type?.brain?.required ?? false } : null;
  if (brain) y += ROW + 4;
  return {
    width,
    height: y + PADDING,
    inputs,
    outputs,
    rows,
    brain,
    screen: screenBox,
    registerArea,
    reroute: false,
    collapsed: false,
  };
}

function collapsedShape(
  entry: NodeEntry,
  type: NodeType | undefined,
  width: number,
  usedOutputs: readonly string[],
): NodeShape {
  const inHeader = (port: Port): Port => ({ ...port, y: HEADER / 2 });
  return {
    width: Math.max(width, MIN_WIDTH),
    height: HEADER,
    inputs: inputPorts(entry, type, 0).map(inHeader),
    outputs: outputPorts(type, usedOutputs, 0).map(inHeader),
    rows: [],
    brain: null,
    screen: null,
    registerArea: null,
    reroute: false,
    collapsed: true,
  };
}

function rerouteShape(type: NodeType): NodeShape {
  const port = (name: string, socket: Input | Output): Port => ({
    name,
    index: 0,
    y: 12,
    socket,
    many: false,
  });
  const inputs = Object.entries(type.inputs).map(([name, kind]) => port(name, kind));
  const outputs = Object.entries(type.outputs).map(([name, kind]) => port(name, kind));
  return {
    width: 40,
    height: 24,
    inputs,
    outputs,
    rows: [],
    brain: null,
    screen: null,
    registerArea: null,
    reroute: true,
    collapsed: false,
  };
}

function inputPorts(entry: NodeEntry, type: NodeType | undefined, top: number): Port[] {
  // linked inputs that the type does not have are included, so that a placeholder shows them
  const names = [
    ...new Set([
      ...Object.keys(type?.inputs ?? {}),
      ...linkedInputs(entry).filter((name) => name !== WHEN),
    ]),
  ];
  const ports = names.flatMap((name) => {
    const socket = inputOf(type, name);
    const linked = sources(entry, name).length;
    const count = socket?.many ? linked + 1 : Math.max(1, socket ? 1 : linked);
    return Array.from({ length: count }, (_, index) => ({
      name,
      index,
      socket,
      many: socket?.many ?? linked > 1,
    }));
  });
  if (entry.when !== undefined)
    ports.push({ name: WHEN, index: 0, socket: inputOf(type, WHEN), many: false });
  return ports.map((port, i) => ({ ...port, y: top + (i + 0.5) * ROW }));
}

function outputPorts(type: NodeType | undefined, used: readonly string[], top: number): Port[] {
  const names = [...new Set([...Object.keys(type?.outputs ?? {}), ...used])];
  return names.map((name, i) => ({
    name,
    index: 0,
    socket: own(type?.outputs, name),
    many: false,
    y: top + (i + 0.5) * ROW,
  }));
}

function widgetRows(entry: NodeEntry, type: NodeType | undefined, top: number): WidgetRow[] {
  const set = isObject(entry.set) ? entry.set : {};
  const known = Object.entries(type?.widgets ?? {});
  const areFew = known.length <= MAX_UNSET_WIDGETS;
  const shown = known
    .filter(([name, widget], i) => areFew || i === 0 || widget.required || Object.hasOwn(set, name))
    .map(([name]) => name);
  const unknown = Object.keys(set).filter((name) => !own(type?.widgets, name));
  return [...shown, ...unknown].map((name, i) => {
    const isSet = Object.hasOwn(set, name);
    return {
      name,
      y: top + (i + 0.5) * ROW,
      value: isSet ? set[name] : own(type?.widgets, name)?.default,
      isSet,
    };
  });
}

/** Return the boxes of a workflow's nodes. Nodes without a position are at 0, 0. */
export const boxesOf = (workflow: Workflow, catalog: Catalog): Box[] =>
  Object.entries(workflow.nodes).map(([id, entry]) => {
    const position = positionOf(workflow, id);
    const { collapsed } = styleOf(workflow, id);
    const type = catalog.find(entry.type);
    const { width, height } = shapeOf(entry, type, position?.width, [], collapsed);
    return [...(position?.at ?? ([0, 0] as const)), width, height];
  });

/** Return the part at a point of a node that can be clicked: a widget, the brain, or null. */
export function partAt(
  shape: NodeShape,
  x: number,
  y: number,
): { part: "widget"; name: string } | { part: "brain" } | null {
  if (x < 0 || x > shape.width) return null;
  const row = shape.rows.find((each) => Math.abs(each.y - y) <= ROW / 2);
  if (row) return { part: "widget", name: row.name };
  return shape.brain && y >= shape.brain.y && y <= shape.brain.y + ROW ? { part: "brain" } : null;
}

/** Return the output whose picture a node shows; undefined for a Preview. */
export const shownOutput = (type: NodeType): string | undefined =>
  Object.entries(type.outputs).find(([, kind]) => hasFrame(kind))?.[0];

/** Format a value for display on a node, on one line. */
export function valueText(value: Json | undefined): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "string") return value || "“”";
  if (Array.isArray(value)) return value.length ? value.map(valueText).join(", ") : "none";
  if (isObject(value)) {
    const parts = Object.entries(value).map(([key, item]) => `${key} ${valueText(item)}`);
    return parts.length ? parts.join(", ") : "none";
  }
  return String(value);
}
