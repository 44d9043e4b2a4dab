/** The values on wires: a chip where a wire leaves its output, or the place of a small picture. */

import type { Box, Point } from "../model/workflow";
import { truncate } from "./paint";
import { FONT, type Theme } from "./theme";

type Context = CanvasRenderingContext2D;

/** live: as delivered; held: the last one, while the node thinks; stale: older than usual, or its node failed. */
export type Freshness = "live" | "held" | "stale";

export interface WireValue {
  readonly text: string;
  readonly freshness: Freshness;
}

/** Distance of a chip from the socket and from the node behind it. */
const GAP = 10;
const HEIGHT = 18;
const MAX_WIDTH = 96;
const PADDING = 6;
/** Below this width nothing is shown. */
const MIN_WIDTH = 22;
const PICTURE: Point = [40, 28];

/** Return the width that is free on a wire between its output and the next node on the right. */
export function freeWidth([x, y]: Point, boxes: Iterable<Box>): number {
  let next = x + MAX_WIDTH + 2 * GAP;
  for (const [left, top, , height] of boxes)
    if (left > x && top < y + HEIGHT && top + height > y - HEIGHT) next = Math.min(next, left);
  return next - x - 2 * GAP;
}

/** Return the box of a small picture on a wire; null if there is no room. */
export function pictureBox([x, y]: Point, width: number): Box | null {
  if (width < MIN_WIDTH) return null;
  return [x + GAP, y - PICTURE[1] / 2, Math.min(PICTURE[0], width), PICTURE[1]];
}

/** A value, the place of its output, the free space behind it, and the colour of its wire. */
export interface PlacedValue {
  readonly value: WireValue;
  readonly at: Point;
  readonly width: number;
  readonly colour: string;
}

/** Paint values on the wires that leave their outputs, those for which there is room. Chips of one colour are one path. */
export function paintWireValues(ctx: Context, values: readonly PlacedValue[], theme: Theme): void {
  ctx.font = `500 11px ${FONT}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const chips = new Path2D();
  const rims = new Map<string, Path2D>();
  const texts: [string, number, number, Freshness][] = [];
  for (const { value, at, width, colour } of values) {
    if (width < MIN_WIDTH) continue;
    const text = truncate(ctx, value.text, width - 2 * PADDING);
    const [left, top] = [at[0] + GAP, at[1] - HEIGHT / 2];
    const box = [left, top, textWidth(ctx, text) + 2 * PADDING, HEIGHT, HEIGHT / 2] as const;
    const rim = { live: colour, held: theme.warn, stale: theme.bad }[value.freshness];
    chips.roundRect(...box);
    if (!rims.has(rim)) rims.set(rim, new Path2D());
    rims.get(rim)!.roundRect(...box);
    texts.push([text, left + PADDING, at[1] + 0.5, value.freshness]);
  }
  ctx.fillStyle = theme.node;
  ctx.fill(chips);
  ctx.lineWidth = 1;
  for (const [colour, path] of rims) {
    ctx.strokeStyle = colour;
    ctx.stroke(path);
  }
  const inks = { live: theme.text, held: theme.warn, stale: theme.bad };
  for (const [text, x, y, freshness] of texts) {
    ctx.fillStyle = inks[freshness];
    ctx.fillText(text, x, y);
  }
}

const textWidths = new Map<string, number>();

function textWidth(ctx: Context, text: string): number {
  const known = textWidths.get(text);
  if (known !== undefined) return known;
  if (textWidths.size > 5000) textWidths.clear();
  const { width } = ctx.measureText(text);
  textWidths.set(text, width);
  return width;
}
