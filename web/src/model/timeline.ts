/** The marks of a recorded run: which of them comes next, and what is said at a tick. */

import type { Mark, Series } from "../api";

/** A mark of one run, or the tick at which two differ. */
export interface TimelineMark extends Omit<Mark, "kind"> {
  readonly kind: Mark["kind"] | "difference";
}

/** The kinds of marks, or all of them, in the words of the page. */
export const KINDS = {
  all: "any mark",
  reward: "rewards",
  decision: "decisions",
  edit: "changes of the graph",
  exception: "failures",
  episode: "ends of games",
  difference: "the first difference",
  found: "a value …",
} as const;

export type Kind = keyof typeof KINDS;

/** Return the marks of a kind. */
export const ofKind = (marks: readonly TimelineMark[], kind: Kind): readonly TimelineMark[] =>
  kind === "all" ? marks : marks.filter((mark) => mark.kind === kind);

/** Return the tick of the next mark after a tick, or of the one before it; null if there is none. */
export function nextMark(marks: readonly TimelineMark[], tick: number, by: 1 | -1): number | null {
  const ticks = marks.map((mark) => mark.tick);
  const found = by === 1 ? ticks.find((at) => at > tick) : ticks.findLast((at) => at < tick);
  return found ?? null;
}

/** Return the tick of the mark that is nearest to a tick, within a distance; otherwise that tick. */
export function nearestMark(marks: readonly TimelineMark[], tick: number, within: number): number {
  let best = tick;
  let distance = within;
  for (const mark of marks) {
    if (Math.abs(mark.tick - tick) > distance) continue;
    best = mark.tick;
    distance = Math.abs(mark.tick - tick);
  }
  return best;
}

/** Return what the marks of a tick say. */
export function textAt(marks: readonly TimelineMark[], tick: number): string {
  return marks
    .filter((mark) => mark.tick === tick)
    .map(({ kind, node, text }) =>
      kind === "reward" ? `reward ${text}` : `${node} ${text}`.trim(),
    )
    .join("; ");
}

/** Return the last points of a course up to a tick, and that tick itself. */
export function courseAt(course: Series, tick: number, most: number): Series {
  const until = course.filter(([at]) => at <= tick).slice(-most);
  const last = until.at(-1);
  return last === undefined || last[0] === tick ? until : [...until, [tick, last[1]]];
}
