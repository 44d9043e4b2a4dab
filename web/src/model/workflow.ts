/** The workflow file: its types, and parsing of untrusted data. */

import { isObject, type Json, type JsonObject, own } from "./json";

export type Mode = "run" | "mute" | "bypass";
export type Point = readonly [number, number];
export type Box = readonly [x: number, y: number, width: number, height: number];

/** A node's entry in the file. Unknown keys are preserved. */
export interface NodeEntry {
  readonly type: string;
  readonly title?: string;
  readonly set?: JsonObject;
  readonly in?: { readonly [socket: string]: string | readonly string[] };
  readonly brain?: string | { readonly file: string; readonly sha256?: string } | null;
  /** The brains of a box, by name. */
  readonly brains?: JsonObject;
  readonly every?: number | string;
  readonly when?: string | null;
  readonly background?: "thread" | "process" | null;
  readonly busy?: "wait" | "continue";
  readonly latency?: number | null;
  readonly mode?: Mode;
  readonly on_error?: "stop" | "hold" | "fallback";
}

/** Colours of nodes and frames, which mean what their author wants. */
export const COLOURS = ["red", "orange", "green", "teal", "blue", "purple"] as const;
export type Colour = (typeof COLOURS)[number];

/** A frame on the canvas, around nodes or with a text of its own: a group, or a note. */
export interface Group {
  readonly title: string;
  readonly bounds: Box;
  readonly text: string;
  readonly colour: Colour | null;
}

/** How a node looks. It is kept beside its position, so it changes nothing of what is run. */
export interface NodeStyle {
  readonly colour: Colour | null;
  readonly collapsed: boolean;
}

/** The inside of boxes: nodes with sockets, widgets and brains of their own. */
export interface Subgraph {
  readonly title?: string;
  readonly description?: string;
  readonly version?: number;
  readonly nodes: { readonly [id: string]: NodeEntry };
  /** Input -> the inputs of its nodes that are fed by it, each perhaps with its place among their links. */
  readonly inputs?: { readonly [name: string]: string | readonly string[] };
  readonly outputs?: { readonly [name: string]: string };
  readonly widgets?: { readonly [name: string]: string };
  readonly brains?: { readonly [name: string]: string };
  readonly layout?: { readonly [id: string]: Json };
  readonly groups?: readonly Json[];
  /** The name of the part that it was inserted from. */
  readonly part?: string;
}

export type Clock = "fast" | "realtime";

export interface RunSettings {
  readonly episodes?: number;
  readonly ticks?: number;
  readonly seed?: number;
  readonly clock?: Clock;
}

export interface Workflow {
  readonly minibrains: number;
  readonly title?: string;
  readonly description?: string;
  readonly run?: RunSettings;
  readonly nodes: { readonly [id: string]: NodeEntry };
  readonly layout?: { readonly [id: string]: Json };
  readonly groups?: readonly Json[];
  /** Conditions by output, such as {"console.reward": "< 0"}, which pause a run that is watched. */
  readonly breakpoints?: JsonObject;
  readonly defs?: { readonly [name: string]: Subgraph };
  /** Only of the inside of a box that is shown: the beginning of the ids of its nodes. It is not in files. */
  readonly prefix?: string;
}

export interface SocketRef {
  readonly node: string;
  readonly socket: string;
}

export interface Link {
  readonly from: SocketRef;
  readonly to: SocketRef;
}

export const FORMAT = 1;
export const WHEN = "when";
/** The id of a node; that of a node inside of a box is a path. */
const NODE_ID = /^[a-z0-9_]+(?:\/[a-z0-9_]+)*$/;
/** Also from the border of the inside of a box that is shown. */
const LINK = /^([a-z0-9_/]+|(?:[a-z0-9_]+\/)*:in)\.([A-Za-z_][A-Za-z0-9_]*)$/;

export const EMPTY: Workflow = { minibrains: FORMAT, title: "", nodes: {}, layout: {} };

/** The data is not a workflow. The message is a sentence for users. */
export class WorkflowError extends Error {}

/** Parse a workflow. Unknown keys are preserved. Throws WorkflowError. */
export function parseWorkflow(text: string): Workflow {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new WorkflowError(`This is not JSON: ${(error as Error).message}`);
  }
  return workflowFromJson(data);
}

/** The beginning of the message about a file that is for another program. */
export const COMFYUI_FILE = "This is a ComfyUI workflow; its node types do not exist here.";

/** Return whether JSON data is what ComfyUI's editor saves, or exports in its API format. */
function isComfyUi(data: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(data.nodes) && "links" in data) return true;
  const nodes = Object.values(data);
  return nodes.length > 0 && nodes.every((node) => isObject(node) && "class_type" in node);
}

/** Check JSON data and return it as a workflow. Throws WorkflowError. */
export function workflowFromJson(data: unknown): Workflow {
  if (!isObject(data)) throw new WorkflowError("A workflow is a JSON object; this is not one.");
  const format = data.minibrains;
  if (typeof format !== "number") {
    if (isComfyUi(data)) throw new WorkflowError(`${COMFYUI_FILE} Build the graph here instead.`);
    throw new WorkflowError(
      'The key "minibrains" is missing, so this is not a workflow of Minibrains.',
    );
  }
  if (format > FORMAT) {
    throw new WorkflowError(
      `Format ${format} was saved by a newer Minibrains; this one knows ${FORMAT}. Update it.`,
    );
  }
  const nodes = data.nodes ?? {};
  if (!isObject(nodes)) throw new WorkflowError('"nodes" is not an object of nodes.');
  for (const [id, entry] of Object.entries(nodes)) {
    if (!NODE_ID.test(id))
      throw new WorkflowError(`The node id ${JSON.stringify(id)} may only have a-z, 0-9 and _.`);
    if (!isObject(entry)) throw new WorkflowError(`The node ${id} is not a JSON object.`);
    if (typeof entry.type !== "string") throw new WorkflowError(`The node ${id} has no "type".`);
  }
  if (!isObject(data.defs ?? {})) throw new WorkflowError('"defs" is not an object of subgraphs.');
  for (const [name, subgraph] of Object.entries(data.defs ?? {}))
    if (!isObject(subgraph) || !isObject(subgraph.nodes))
      throw new WorkflowError(`The subgraph ${JSON.stringify(name)} has no nodes.`);
  return { ...data, nodes } as unknown as Workflow;
}

export function parseSocketRef(text: unknown): SocketRef | null {
  const match = typeof text === "string" ? LINK.exec(text) : null;
  return match ? { node: match[1]!, socket: match[2]! } : null;
}

export const formatSocketRef = (end: SocketRef): string => `${end.node}.${end.socket}`;

/** Return the outputs that are linked to an input, in order, without malformed ones. */
export function sources(entry: NodeEntry, socket: string): readonly SocketRef[] {
  const inputs: JsonObject = isObject(entry.in) ? entry.in : {};
  const value = socket === WHEN ? entry.when : own(inputs, socket);
  const texts = Array.isArray(value) ? value : [value];
  return texts.map(parseSocketRef).filter((end): end is SocketRef => end !== null);
}

/** Return the linked inputs of a node, including `when`. */
export function linkedInputs(entry: NodeEntry): readonly string[] {
  const sockets = isObject(entry.in) ? Object.keys(entry.in) : [];
  return typeof entry.when === "string" ? [...sockets, WHEN] : sockets;
}

/** Return all links of a workflow, including those from missing nodes. */
export function links(workflow: Workflow): readonly Link[] {
  return Object.entries(workflow.nodes).flatMap(([node, entry]) =>
    linkedInputs(entry).flatMap((socket) =>
      sources(entry, socket).map((from) => ({ from, to: { node, socket } })),
    ),
  );
}

/** Return a file's name without its suffix, for display. */
export const stem = (file: string): string => file.replace(/\.json$/, "");

/** Return the file of a node's brain, as named in the workflow. */
export function brainFile(entry: NodeEntry): string | null {
  if (typeof entry.brain === "string") return entry.brain;
  return isObject(entry.brain) && typeof entry.brain.file === "string" ? entry.brain.file : null;
}

/** Return the SHA-256 that a node's brain must have; null if the workflow gives none. */
export function brainPin(entry: NodeEntry): string | null {
  return isObject(entry.brain) && typeof entry.brain.sha256 === "string"
    ? entry.brain.sha256
    : null;
}

export function modeOf(entry: NodeEntry): Mode {
  return entry.mode === "mute" || entry.mode === "bypass" ? entry.mode : "run";
}

/** The type without its version: "FrameStack" of "FrameStack@1". */
export const typeName = (type: string): string => type.replace(/@.*$/s, "");

/** The displayed name of a node: its title, or else its id. */
export function nameOf(id: string, entry: NodeEntry): string {
  return typeof entry.title === "string" && entry.title ? entry.title : localId(id);
}

const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);

/** Return a node's position, and its width if the file has one. */
export function positionOf(workflow: Workflow, id: string): { at: Point; width?: number } | null {
  const position = isObject(workflow.layout) ? own(workflow.layout, id) : undefined;
  if (!Array.isArray(position) || !isNumber(position[0]) || !isNumber(position[1])) return null;
  return {
    at: [position[0], position[1]],
    ...(isNumber(position[2]) ? { width: position[2] } : {}),
  };
}

const readColour = (value: Json | undefined): Colour | null =>
  COLOURS.find((colour) => colour === value) ?? null;

/** Return the style of a node: the fourth entry of its position. */
export function styleOf(workflow: Workflow, id: string): NodeStyle {
  const position = isObject(workflow.layout) ? own(workflow.layout, id) : undefined;
  const style = Array.isArray(position) && isObject(position[3]) ? position[3] : {};
  return { colour: readColour(style.colour), collapsed: style.collapsed === true };
}

/** The entries of `groups`, unchecked. */
export const groupsOf = (workflow: Workflow): readonly Json[] =>
  Array.isArray(workflow.groups) ? workflow.groups : [];

const CONDITION = /^\s*(<=|>=|==|!=|<|>)\s*(\S(?:.*\S)?)\s*$/;

/** Return the breakpoints by output, without those that are not texts. */
export function breakpointsOf(workflow: Workflow): ReadonlyMap<string, string> {
  const entries = isObject(workflow.breakpoints) ? Object.entries(workflow.breakpoints) : [];
  return new Map(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** Return whether a text is the condition of a breakpoint: an operator and a number, flag or text in JSON. */
export function isCondition(text: string): boolean {
  const match = CONDITION.exec(text);
  if (!match) return false;
  try {
    const value: unknown = JSON.parse(match[2]!);
    if (typeof value === "number") return true;
    const isEquality = match[1] === "==" || match[1] === "!=";
    return isEquality && (typeof value === "boolean" || typeof value === "string");
  } catch {
    return false;
  }
}

/** Parse an entry of `groups`; null if it is not a group. */
export function readGroup(value: Json): Group | null {
  if (
    !isObject(value) ||
    !Array.isArray(value.bounds) ||
    value.bounds.length !== 4 ||
    !value.bounds.every(isNumber)
  )
    return null;
  return {
    title: typeof value.title === "string" ? value.title : "",
    bounds: value.bounds as unknown as Box,
    text: typeof value.text === "string" ? value.text : "",
    colour: readColour(value.colour),
  };
}

export function isWithin([x, y, width, height]: Box, [left, top, w, h]: Box): boolean {
  return x >= left && y >= top && x + width <= left + w && y + height <= top + h;
}

/** The last part of an id: "grey" of "eyes/grey". */
export const localId = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

export function overlap(a: Box, b: Box): boolean {
  return a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3];
}
