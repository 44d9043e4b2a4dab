/** The strip of a node's or a run's last ticks, against the time of a frame. */

import { type NodeTicks, TICKS } from "../live/budget";
import type { Box } from "../model/workflow";
import type { Theme } from "./theme";

/** Height of the band at the upper end of a tick on which the node was thinking. */
const THOUGHT_HEIGHT = 3;

type Context = CanvasRenderingContext2D;

/**
 * Paint the strip in a box. Its full height is a frame, or without one the longest tick. A tick is a bar, red if it took
 * longer than a frame; a band above says that the node was thinking.
 */
export function paintBudgetStrip(
  ctx: Context,
  { us, thought }: NodeTicks,
  frameUs: number | null,
  [x, y, width, height]: Box,
  theme: Theme,
): void {
  const full = frameUs ?? Math.max(1, ...us);
  const step = width / TICKS;
  const first = TICKS - us.length;
  ctx.fillStyle = theme.well;
  ctx.fillRect(x, y, width, height);
  ctx.fillStyle = theme.line;
  ctx.fillRect(x, y, width, 1);
  const bars = new Path2D();
  const late = new Path2D();
  const bands = new Path2D();
  for (const [i, time] of us.entries()) {
    const left = x + (first + i) * step;
    if (thought[i]) bands.rect(left, y, step, THOUGHT_HEIGHT);
    if (time <= 0) continue;
    const bar = Math.max(1, Math.min(1, time / full) * height);
    const path = frameUs !== null && time > frameUs ? late : bars;
    path.rect(left, y + height - bar, step * 0.8, bar);
  }
  ctx.fillStyle = theme.muted;
  ctx.fill(bars);
  ctx.fillStyle = theme.bad;
  ctx.fill(late);
  ctx.fillStyle = theme.warn;
  ctx.fill(bands);
}
