/** The paths of links. Forward ones are curves. Backward ones, mostly into registers, run down, below the nodes, and up again. */

import type { Box, Point } from "../model/workflow";

const CORNER_RADIUS = 12;
const STUB_LENGTH = 22;

export interface LinkPath {
  readonly path: Path2D;
  /** The point half way along the path. */
  readonly middle: Point;
}

/** Return true if a link from `a` to `b` runs backward. */
export const isBackward = (a: Point, b: Point): boolean => b[0] < a[0] + 8;

export function forwardPath(a: Point, b: Point): LinkPath {
  const distance = Math.hypot(b[0] - a[0], b[1] - a[1]);
  const bend = Math.min(Math.max(Math.abs(b[0] - a[0]) * 0.5, Math.min(distance * 0.4, 60)), 160);
  const path = new Path2D();
  path.moveTo(a[0], a[1]);
  path.bezierCurveTo(a[0] + bend, a[1], b[0] - bend, b[1], b[0], b[1]);
  return { path, middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] };
}

/**
 * Return the y at which a backward link can run: between its two nodes if one is far enough above the other, or else below
 * them; below other nodes that are in the way; beside lanes that are already used.
 */
export function laneFor(from: Box, to: Box, others: Iterable<Box>, taken: Lane[] = []): number {
  const [left, right] = [to[0] - STUB_LENGTH, from[0] + from[2] + STUB_LENGTH];
  const between = [...others].filter(([x, , width]) => x < right && x + width > left);
  const isFree = (y: number) =>
    between.every(([, top, , height]) => top + height < y - 8 || top > y + 8);
  const gap = to[1] - from[1] - from[3];
  const shortcut = from[1] + from[3] + gap / 2;
  let lane =
    gap >= 24 && isFree(shortcut) ? shortcut : Math.max(from[1] + from[3], to[1] + to[3]) + 26;
  for (const [, top, , height] of between.sort((a, b) => a[1] - b[1])) {
    if (top < lane + 8 && top + height > lane - 8) lane = top + height + 18;
  }
  while (
    taken.some((other) => Math.abs(other.y - lane) < 9 && other.left < right && other.right > left)
  )
    lane += 10;
  taken.push({ y: lane, left, right });
  return lane;
}

export interface Lane {
  readonly y: number;
  readonly left: number;
  readonly right: number;
}

export function backwardPath(a: Point, b: Point, lane: number): LinkPath {
  const [right, left] = [a[0] + STUB_LENGTH, b[0] - STUB_LENGTH];
  const path = new Path2D();
  const corner = (height: number) => Math.min(CORNER_RADIUS, Math.abs(height) / 2);
  path.moveTo(a[0], a[1]);
  path.arcTo(right, a[1], right, lane, corner(lane - a[1]));
  path.arcTo(right, lane, left, lane, CORNER_RADIUS);
  path.arcTo(left, lane, left, b[1], CORNER_RADIUS);
  path.arcTo(left, b[1], b[0], b[1], corner(lane - b[1]));
  path.lineTo(b[0], b[1]);
  return { path, middle: [(left + right) / 2, lane] };
}
