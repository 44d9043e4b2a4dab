/** How the time of the last ticks was spent, by nodes and in all. */

import { isObject, type Json, type JsonObject } from "../model/json";

/** In place of a node's id: the tick as a whole. */
export const WHOLE_TICK = "";
/** Number of ticks that the server keeps. */
export const TICKS = 60;

export interface NodeTicks {
  /** Microseconds of each of the last ticks, the newest one last. */
  readonly us: readonly number[];
  /** On which of them the node was thinking, so that its last value was held; empty if it never thinks. */
  readonly thought: readonly boolean[];
}

export interface Budget {
  readonly nodes: ReadonlyMap<string, NodeTicks>;
  /** Microseconds of a frame of the game; null without a console. */
  readonly frameUs: number | null;
  readonly slowest: { readonly node: string; readonly us: number } | null;
  /** Number of missed deadlines by cause; null unless the run is in real time. */
  readonly missed: MissedDeadlines | null;
}

export interface MissedDeadlines {
  readonly nodes: ReadonlyMap<string, number>;
  readonly engine: number;
  readonly unscheduled: number;
}

export const NO_BUDGET: Budget = { nodes: new Map(), frameUs: null, slowest: null, missed: null };

/** Return the budget after an event of the server. */
export function applyBudget(before: Budget, entries: JsonObject): Budget {
  const nodes = new Map(before.nodes);
  for (const [node, entry] of Object.entries(entries)) {
    if (!isObject(entry) || !Array.isArray(entry.us)) continue;
    const thought = Array.isArray(entry.thought) ? entry.thought : [];
    nodes.set(node, { us: entry.us.map(Number), thought: thought.map(Boolean) });
  }
  const whole = entries[WHOLE_TICK];
  if (!isObject(whole)) return { ...before, nodes };
  return {
    nodes,
    frameUs: typeof whole.frame_us === "number" ? whole.frame_us : null,
    slowest: readSlowest(whole.slowest),
    missed: readMissed(whole.missed),
  };
}

function readSlowest(value: Json | undefined): Budget["slowest"] {
  if (!Array.isArray(value)) return null;
  const [node, us] = value;
  return typeof node === "string" && typeof us === "number" ? { node, us } : null;
}

function readMissed(value: Json | undefined): MissedDeadlines | null {
  if (!isObject(value) || !isObject(value.nodes)) return null;
  const nodes = Object.entries(value.nodes).map(([node, n]) => [node, Number(n)] as const);
  return {
    nodes: new Map(nodes),
    engine: Number(value.engine ?? 0),
    unscheduled: Number(value.unscheduled ?? 0),
  };
}

/** Describe the missed deadlines and their causes for users. */
export function missedText({ nodes, engine, unscheduled }: MissedDeadlines): string {
  const causes: (readonly [string, number])[] = [...nodes].sort(([, a], [, b]) => b - a);
  causes.push(["the engine", engine], ["a busy machine", unscheduled]);
  const counted = causes.filter(([, n]) => n > 0);
  const total = counted.reduce((sum, [, n]) => sum + n, 0);
  if (total === 0) return "no deadline missed";
  const list = counted.map(([cause, n]) => `${cause} ${n}`).join(", ");
  return `${total.toLocaleString("en")} ${total === 1 ? "deadline" : "deadlines"} missed: ${list}`;
}

/** Return the mean of the times, in microseconds; 0 for none. */
export const meanOf = (us: readonly number[]): number =>
  us.length ? us.reduce((sum, each) => sum + each, 0) / us.length : 0;

/** Return the length of the last stretch of ticks on which a node was thinking; 0 if it is not thinking. */
export function heldTicks({ thought }: NodeTicks): number {
  const free = thought.lastIndexOf(false);
  return thought.length - 1 - free;
}

/** Format a duration: below 0.1 ms in microseconds. */
export function durationText(us: number): string {
  if (us < 99.5) return `${Math.round(us)} µs`;
  if (us < 995) return `${(us / 1000).toPrecision(2)} ms`;
  return us < 99_950 ? `${(us / 1000).toFixed(1)} ms` : `${Math.round(us / 1000)} ms`;
}
