/** The values on the wires of a run, and how fresh they are. */

import type { NodeStatus } from "../board/events";
import type { Freshness, WireValue } from "../canvas/wire_value";
import type { Run } from "./run";

/** A value is never stale before it is this many ticks old: a second of most games. */
const MIN_STALE_TICKS = 60;
const BROKEN: ReadonlySet<string> = new Set(["failed", "lost", "restarting"]);

export function wireValues(run: Run, isConnected: boolean): ReadonlyMap<string, WireValue> {
  const result = new Map<string, WireValue>();
  for (const [socket, text] of run.values) {
    const [node] = socket.split(".");
    const status = run.nodes.get(node!);
    const freshness = isConnected ? freshnessOf(status, run.ticks) : "stale";
    result.set(socket, { text, freshness });
  }
  return result;
}

/** Stale: its node failed, or has not run for a second and for twice the time from one run to the next. */
export function freshnessOf(status: NodeStatus | undefined, ticks: number): Freshness {
  if (!status) return "live";
  if (status.state !== null && BROKEN.has(status.state)) return "stale";
  if (status.state === "thinking") return "held";
  if (status.state === "cached") return "live";
  const usual = status.runs > 1 ? ticks / status.runs : 0;
  return ticks - status.ranAt > Math.max(MIN_STALE_TICKS, 2 * usual) ? "stale" : "live";
}
