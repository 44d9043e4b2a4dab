/** Painting of nodes, groups and sockets, independent of litegraph. */

import { durationText, heldTicks, type NodeTicks } from "../live/budget";
import { type Input, labelOf } from "../model/catalog";
import type { Box, Colour, Group, Mode } from "../model/workflow";
import { paintBudgetStrip } from "./budget_strip";
import { HEADER, type NodeShape, type Port, ROW, valueText } from "./shape";
import { chosenColour, FONT, labelColour, type Theme } from "./theme";

export type NodeState =
  | "idle"
  | "running"
  | "skipped"
  | "thinking"
  | "restarting"
  | "lost"
  | "cached"
  | "failed";

export type NodePicture = HTMLImageElement | ImageBitmap;

export interface NodeAppearance {
  readonly title: string;
  readonly subtitle: string;
  readonly unknown: boolean;
  readonly mode: Mode;
  readonly colour: Colour | null;
  readonly selected: boolean;
  readonly state: NodeState | null;
  /** Mean milliseconds per run of the node. */
  readonly ms: number | null;
  /** Its last ticks, against the time of a frame; null: they are not shown. */
  readonly budget: NodeBudget | null;
  /** The part of its work that is done, 0 to 1. */
  readonly progress: number | null;
  /** Caches saved a noticeable time. */
  readonly usedCache: boolean;
  readonly fault: string | null;
  readonly isLinked: (port: Port, side: "in" | "out") => boolean;
  /** True for sockets that do not fit the link that is being dragged. */
  readonly isDimmed: (port: Port, side: "in" | "out") => boolean;
  /** The picture on its screen until a run sends one. */
  readonly picture: NodePicture | null;
  readonly outputValue: (output: string) => string | null;
  /** True for outputs whose value can pause a run. */
  readonly hasBreakpoint: (output: string) => boolean;
}

export interface NodeBudget {
  readonly times: NodeTicks;
  readonly frameUs: number | null;
  /** Number of deadlines that were missed because of the node. */
  readonly missed: number;
}

type Context = CanvasRenderingContext2D;
const RADIUS = 10;
/** Of the bar of progress, at the lower end of the header. */
const PROGRESS_HEIGHT = 3;
/** Of the bar in a node's own colour, at its left edge. */
const COLOUR_WIDTH = 5;
const NOTE_FONT = `400 13px ${FONT}`;
const NOTE_LINE = 19;
/** Of the title of a frame. */
const FRAME_HEADER = 34;
const SCREEN_BACKGROUND = "#0b0c10";
const SCREEN_TEXT = "#8a92a1";
/** Of the strip of the last ticks, and its distance from the node below. */
const STRIP_HEIGHT = 14;
const STRIP_GAP = 4;
/** Below this scale, only name and state are painted. */
export const DETAIL_SCALE = 0.42;
/** Of the lines over a muted node, and from one to the next. */
const HATCH_WIDTH = 4;
const HATCH_STEP = 14;
const MODE_TAGS = { run: "", mute: "muted", bypass: "bypassed" } as const;
/** Below that scale, the symbol of the state is larger by this factor. */
const FAR_STATE_SCALE = 2;

export function paintNode(
  ctx: Context,
  shape: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
  scale: number,
): void {
  ctx.save();
  if (shape.reroute) paintReroute(ctx, shape, appearance, theme);
  else {
    paintBody(ctx, shape, appearance, theme, scale);
    if (scale >= DETAIL_SCALE) paintDetails(ctx, shape, appearance, theme);
    else paintFarNode(ctx, shape, appearance, theme, scale);
  }
  ctx.restore();
}

function paintBody(
  ctx: Context,
  { width, height, registerArea }: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
  scale: number,
): void {
  ctx.shadowColor = theme.shadow;
  ctx.shadowBlur = (appearance.selected ? 18 : 10) * scale;
  ctx.shadowOffsetY = 3 * scale;
  ctx.fillStyle = theme.node;
  ctx.beginPath();
  ctx.roundRect(0, 0, width, height, RADIUS);
  ctx.fill();
  ctx.shadowColor = "transparent";
  ctx.save();
  ctx.clip();
  ctx.fillStyle = theme.header;
  ctx.fillRect(0, 0, width, HEADER);
  if (appearance.progress !== null && appearance.progress < 1) {
    ctx.fillStyle = theme.accent;
    ctx.fillRect(0, HEADER - PROGRESS_HEIGHT, width * appearance.progress, PROGRESS_HEIGHT);
  }
  if (appearance.colour) {
    ctx.fillStyle = chosenColour(appearance.colour, theme.dark);
    ctx.fillRect(0, 0, COLOUR_WIDTH, height);
  }
  if (registerArea) paintRegisterArea(ctx, width, registerArea, theme);
  if (appearance.mode === "mute") paintHatching(ctx, width, height, theme);
  if (appearance.mode === "bypass") paintTint(ctx, width, height, theme);
  ctx.restore();
  const hasFailed =
    appearance.fault !== null || appearance.state === "failed" || appearance.state === "lost";
  const isWaiting = appearance.state === "thinking" || appearance.state === "restarting";
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = 1;
  if (appearance.mode === "bypass") {
    ctx.strokeStyle = theme.bypass;
    ctx.lineWidth = 1.5;
  }
  if (isWaiting) ctx.strokeStyle = theme.warn;
  if (hasFailed) {
    ctx.strokeStyle = theme.bad;
    ctx.lineWidth = 1.5;
  }
  if (appearance.selected) {
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2;
  }
  if (appearance.unknown || appearance.mode === "bypass") ctx.setLineDash([6, 4]);
  ctx.beginPath();
  const inset = ctx.lineWidth / 2;
  ctx.roundRect(-inset + 0.5, -inset + 0.5, width + 2 * inset - 1, height + 2 * inset - 1, RADIUS);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Paint the background of a muted node: hatched, as it delivers nothing. */
function paintHatching(ctx: Context, width: number, height: number, theme: Theme): void {
  ctx.globalAlpha = 0.6;
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = HATCH_WIDTH;
  ctx.beginPath();
  for (let x = -height; x < width; x += HATCH_STEP) {
    ctx.moveTo(x, height);
    ctx.lineTo(x + height, 0);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/** Paint the background of a bypassed node: tinted, as something still passes through it. */
function paintTint(ctx: Context, width: number, height: number, theme: Theme): void {
  ctx.globalAlpha = theme.dark ? 0.16 : 0.1;
  ctx.fillStyle = theme.bypass;
  ctx.fillRect(0, 0, width, height);
  ctx.globalAlpha = 1;
}

/** Paint the area of a register: inputs are latched on its left, outputs are emitted on its right. */
function paintRegisterArea(
  ctx: Context,
  width: number,
  registerArea: { y: number; height: number },
  theme: Theme,
): void {
  ctx.fillStyle = theme.well;
  ctx.fillRect(0, registerArea.y, width, registerArea.height);
  const middle = Math.round(width / 2) + 0.5;
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(0, registerArea.y + 0.5);
  ctx.lineTo(width, registerArea.y + 0.5);
  ctx.moveTo(0, registerArea.y + registerArea.height - 0.5);
  ctx.lineTo(width, registerArea.y + registerArea.height - 0.5);
  ctx.stroke();
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  ctx.moveTo(middle, registerArea.y + 6);
  ctx.lineTo(middle, registerArea.y + registerArea.height - 6);
  ctx.stroke();
  ctx.setLineDash([]);
}

/** Paint a node at a small scale: only name and state, in a readable size. */
function paintFarNode(
  ctx: Context,
  { width, height, screen }: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
  scale: number,
): void {
  const size = Math.min(10.5 / scale, height * 0.7);
  ctx.font = `600 ${size}px ${FONT}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = appearance.fault !== null ? theme.bad : theme.text;
  const y = screen ? (height + screen[1] + screen[3]) / 2 : height / 2;
  const title = truncate(ctx, appearance.title, width - 12);
  ctx.fillText(title, width / 2, y);
  if (appearance.mode === "mute") {
    const half = ctx.measureText(title).width / 2;
    strikeThrough(ctx, width / 2 - half, width / 2 + half, y, size);
  }
  if (screen) paintScreen(ctx, screen, appearance.picture, false);
  if (appearance.mode === "run" && appearance.state === null && appearance.fault === null) return;
  ctx.translate(HEADER / 2, HEADER / 2);
  ctx.scale(FAR_STATE_SCALE, FAR_STATE_SCALE);
  paintState(ctx, 0, 0, appearance, theme);
}

function paintDetails(
  ctx: Context,
  shape: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
): void {
  const { width } = shape;
  ctx.textBaseline = "middle";
  if (appearance.budget) paintBudget(ctx, appearance.budget, width, theme);
  paintState(ctx, 18, HEADER / 2, appearance, theme);
  let right = width - 12;
  const tag = MODE_TAGS[appearance.mode];
  if (tag) {
    ctx.font = `600 11px ${FONT}`;
    ctx.textAlign = "right";
    ctx.fillStyle = appearance.mode === "bypass" ? theme.bypass : theme.muted;
    ctx.fillText(tag, right, HEADER / 2 + 0.5);
    right -= ctx.measureText(tag).width + 8;
  } else if (appearance.ms !== null) {
    ctx.font = `500 11px ${FONT}`;
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    const text = durationText(appearance.ms * 1000);
    ctx.fillText(text, right, HEADER / 2 + 0.5);
    right -= ctx.measureText(text).width + 8;
  }
  if (appearance.usedCache && appearance.state !== "cached") {
    ctx.fillStyle = theme.muted;
    ctx.fillRect(right - 7, HEADER / 2 - 3.5, 7, 7);
    right -= 15;
  }
  ctx.textAlign = "left";
  ctx.font = `600 13px ${FONT}`;
  ctx.fillStyle = theme.text;
  const title = truncate(ctx, appearance.title, right - 32);
  ctx.fillText(title, 32, HEADER / 2 + 0.5);
  const end = 32 + ctx.measureText(title).width;
  if (appearance.mode === "mute") strikeThrough(ctx, 32, end, HEADER / 2 + 0.5, 13);
  const used = end + 8;
  ctx.font = `400 11px ${FONT}`;
  if (appearance.subtitle && right - used > 40) {
    ctx.fillStyle = theme.faint;
    ctx.fillText(truncate(ctx, appearance.subtitle, right - used), used, HEADER / 2 + 1);
  }
  if (shape.registerArea) paintPhaseNames(ctx, width, shape.registerArea.y, theme);
  if (shape.collapsed) {
    paintCollapsedSockets(ctx, shape, appearance, theme);
    return;
  }
  for (const port of shape.inputs) paintPort(ctx, port, "in", shape, appearance, theme);
  for (const port of shape.outputs) paintPort(ctx, port, "out", shape, appearance, theme);
  for (const row of shape.rows)
    paintRow(ctx, row.name, valueText(row.value), row.isSet, row.y, width, theme);
  if (shape.brain) paintBrain(ctx, shape.brain, width, theme);
  if (shape.screen) paintScreen(ctx, shape.screen, appearance.picture, true);
}

/** Paint the last ticks above a node, with words if its value is held or a deadline was missed. */
function paintBudget(
  ctx: Context,
  { times, frameUs, missed }: NodeBudget,
  width: number,
  theme: Theme,
): void {
  const top = -STRIP_GAP - STRIP_HEIGHT;
  paintBudgetStrip(ctx, times, frameUs, [0, top, width, STRIP_HEIGHT], theme);
  const held = heldTicks(times);
  ctx.font = `500 10px ${FONT}`;
  ctx.textAlign = "left";
  let x = 0;
  const word = (text: string, colour: string) => {
    ctx.fillStyle = colour;
    ctx.fillText(text, x, top - 7);
    x += ctx.measureText(text).width + 8;
  };
  if (held > 0) word(held < times.thought.length ? `held ${held} ticks` : "held", theme.warn);
  if (missed > 0) word(`missed ${missed.toLocaleString("en")}`, theme.bad);
}

/** Paint a screen without a live picture, with words if there is no other picture either. */
function paintScreen(
  ctx: Context,
  [x, y, w, h]: Box,
  picture: NodePicture | null,
  words: boolean,
): void {
  ctx.save();
  ctx.fillStyle = SCREEN_BACKGROUND;
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, 6);
  ctx.fill();
  if (picture) {
    const scale = Math.min(w / picture.width, h / picture.height);
    const [width, height] = [picture.width * scale, picture.height * scale];
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(picture, x + (w - width) / 2, y + (h - height) / 2, width, height);
  } else if (words) {
    ctx.fillStyle = SCREEN_TEXT;
    ctx.font = `400 12px ${FONT}`;
    ctx.textAlign = "center";
    ctx.fillText("no picture yet", x + w / 2, y + h / 2);
  }
  ctx.restore();
}

/** Strike a text through that is `size` high. */
function strikeThrough(ctx: Context, from: number, to: number, y: number, size: number): void {
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = Math.max(1, size / 10);
  ctx.beginPath();
  ctx.moveTo(from - 2, y);
  ctx.lineTo(to + 2, y);
  ctx.stroke();
}

function paintPhaseNames(ctx: Context, width: number, top: number, theme: Theme): void {
  ctx.font = `600 9.5px ${FONT}`;
  ctx.fillStyle = theme.muted;
  const y = top + 11;
  ctx.letterSpacing = "0.6px";
  ctx.textAlign = "left";
  ctx.fillText("LATCH", 16, y);
  ctx.textAlign = "right";
  ctx.fillText("EMIT", width - 16, y);
  ctx.letterSpacing = "0px";
}

/** Paint the symbol of the state. */
function paintState(
  ctx: Context,
  x: number,
  y: number,
  appearance: NodeAppearance,
  theme: Theme,
): void {
  const state = appearance.fault !== null ? "failed" : appearance.state;
  ctx.lineWidth = 1.6;
  ctx.lineCap = "round";
  ctx.beginPath();
  if (state === "failed" || state === "lost") {
    ctx.fillStyle = theme.bad;
    ctx.arc(x, y, 7, 0, Math.PI * 2);
    ctx.fill();
    ctx.strokeStyle = theme.node;
    ctx.beginPath();
    ctx.moveTo(x, y - 3.4);
    ctx.lineTo(x, y + 0.6);
    ctx.moveTo(x, y + 3.2);
    ctx.lineTo(x, y + 3.3);
    ctx.stroke();
  } else if (appearance.mode === "mute") {
    ctx.strokeStyle = theme.muted;
    ctx.arc(x, y, 5, 0, Math.PI * 2);
    ctx.moveTo(x - 3.5, y + 3.5);
    ctx.lineTo(x + 3.5, y - 3.5);
    ctx.stroke();
  } else if (appearance.mode === "bypass") {
    ctx.strokeStyle = theme.bypass;
    ctx.moveTo(x - 6, y + 3);
    ctx.quadraticCurveTo(x, y - 8, x + 5.5, y + 2);
    ctx.moveTo(x + 6, y - 3);
    ctx.lineTo(x + 5.5, y + 2.5);
    ctx.lineTo(x + 0.5, y + 1.5);
    ctx.stroke();
  } else if (state === "running") {
    ctx.fillStyle = theme.good;
    ctx.moveTo(x - 3.6, y - 5);
    ctx.lineTo(x + 5, y);
    ctx.lineTo(x - 3.6, y + 5);
    ctx.closePath();
    ctx.fill();
  } else if (state === "thinking") {
    ctx.fillStyle = theme.warn;
    for (const dx of [-5, 0, 5]) {
      ctx.moveTo(x + dx + 1.8, y);
      ctx.arc(x + dx, y, 1.8, 0, Math.PI * 2);
    }
    ctx.fill();
  } else if (state === "restarting") {
    ctx.strokeStyle = theme.warn;
    ctx.arc(x, y, 4.5, -0.2 * Math.PI, 1.4 * Math.PI);
    ctx.moveTo(x + 5.6, y - 6);
    ctx.lineTo(x + 3.8, y - 2.4);
    ctx.lineTo(x + 0.2, y - 3.4);
    ctx.stroke();
  } else if (state === "skipped") {
    ctx.strokeStyle = theme.muted;
    ctx.moveTo(x - 4, y);
    ctx.lineTo(x + 4, y);
    ctx.stroke();
  } else if (state === "cached") {
    ctx.fillStyle = theme.muted;
    ctx.rect(x - 3.5, y - 3.5, 7, 7);
    ctx.fill();
  } else if (appearance.unknown) {
    ctx.fillStyle = theme.warn;
    ctx.font = `700 13px ${FONT}`;
    ctx.textAlign = "center";
    ctx.fillText("?", x, y + 0.5);
  } else {
    ctx.strokeStyle = theme.faint;
    ctx.arc(x, y, 4, 0, Math.PI * 2);
    ctx.stroke();
  }
}

/** Paint the sockets of a collapsed node that are linked, on each other at both ends of its header. */
function paintCollapsedSockets(
  ctx: Context,
  shape: NodeShape,
  { isLinked }: NodeAppearance,
  theme: Theme,
): void {
  for (const port of shape.inputs)
    if (isLinked(port, "in")) paintSocket(ctx, 0, port.y, port, "in", true, theme);
  for (const port of shape.outputs)
    if (isLinked(port, "out")) paintSocket(ctx, shape.width, port.y, port, "out", true, theme);
}

function paintPort(
  ctx: Context,
  port: Port,
  side: "in" | "out",
  shape: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
): void {
  const x = side === "in" ? 0 : shape.width;
  const before = ctx.globalAlpha;
  if (appearance.isDimmed(port, side)) ctx.globalAlpha *= 0.22;
  paintSocket(ctx, x, port.y, port, side, appearance.isLinked(port, side), theme);
  if (side === "out" && appearance.hasBreakpoint(port.name)) paintBreakpoint(ctx, x, port.y, theme);
  const isWhen = port.name === "when";
  ctx.font = `${isWhen ? "italic " : ""}400 12px ${FONT}`;
  ctx.fillStyle = appearance.isLinked(port, side) ? theme.text : theme.muted;
  ctx.textAlign = side === "in" ? "left" : "right";
  const half = shape.width / 2 - 18;
  let name = port.name;
  if (port.many && port.index > 0)
    name = appearance.isLinked(port, side) ? `${port.name} ${port.index + 1}` : "+";
  const value = side === "out" ? appearance.outputValue(port.name) : null;
  const label = truncate(
    ctx,
    value === null ? name : `${name}  ${value}`,
    shape.inputs.length && shape.outputs.length ? half : shape.width - 32,
  );
  ctx.fillText(label, side === "in" ? 14 : shape.width - 14, port.y + 0.5);
  ctx.globalAlpha = before;
}

/** Paint the ring around an output with a breakpoint. */
function paintBreakpoint(ctx: Context, x: number, y: number, theme: Theme): void {
  ctx.strokeStyle = theme.bad;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.arc(x, y, 9, 0, Math.PI * 2);
  ctx.stroke();
}

/** Paint a socket. Circle: last value; diamond: value on its delivery tick; square: value and age; hollow: not linked. */
function paintSocket(
  ctx: Context,
  x: number,
  y: number,
  port: Port,
  side: "in" | "out",
  isLinked: boolean,
  theme: Theme,
): void {
  const reading = side === "in" ? (port.socket as Input | undefined)?.reading : "last";
  ctx.fillStyle = theme.node;
  ctx.strokeStyle = labelColour(labelOf(port.socket), theme.dark);
  ctx.lineWidth = 2;
  ctx.beginPath();
  if (reading === "on") {
    ctx.moveTo(x, y - 6);
    ctx.lineTo(x + 6, y);
    ctx.lineTo(x, y + 6);
    ctx.lineTo(x - 6, y);
    ctx.closePath();
  } else if (reading === "aged") ctx.roundRect(x - 4.5, y - 4.5, 9, 9, 2);
  else ctx.arc(x, y, 5, 0, Math.PI * 2);
  ctx.fill();
  if (isLinked) {
    ctx.fillStyle = ctx.strokeStyle;
    ctx.fill();
  }
  ctx.stroke();
}

function paintRow(
  ctx: Context,
  name: string,
  value: string,
  isSet: boolean,
  y: number,
  width: number,
  theme: Theme,
): void {
  ctx.font = `400 12px ${FONT}`;
  ctx.textAlign = "left";
  ctx.fillStyle = theme.muted;
  const label = truncate(ctx, name, width * 0.44);
  const taken = 12 + ctx.measureText(label).width + 8;
  ctx.fillStyle = theme.well;
  ctx.beginPath();
  ctx.roundRect(8, y - ROW / 2 + 1.5, width - 16, ROW - 3, 5);
  ctx.fill();
  ctx.fillStyle = theme.muted;
  ctx.fillText(label, 16, y + 0.5);
  ctx.textAlign = "right";
  ctx.font = `${isSet ? 500 : 400} 12px ${FONT}`;
  ctx.fillStyle = isSet ? theme.text : theme.faint;
  ctx.fillText(truncate(ctx, value, width - 16 - taken - 4), width - 16, y + 0.5);
}

function paintBrain(
  ctx: Context,
  brain: { y: number; file: string | null; required: boolean },
  width: number,
  theme: Theme,
): void {
  const y = brain.y + ROW / 2;
  const missing = brain.file === null && brain.required;
  ctx.strokeStyle = missing ? theme.warn : theme.line;
  ctx.lineWidth = 1;
  if (missing) ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.roundRect(8.5, brain.y + 0.5, width - 17, ROW - 1, 6);
  ctx.stroke();
  ctx.setLineDash([]);
  const colour = missing ? theme.warn : theme.accent;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  ctx.ellipse(19, y - 3, 4.2, 1.8, 0, 0, Math.PI * 2);
  ctx.moveTo(14.8, y - 3);
  ctx.lineTo(14.8, y + 3.4);
  ctx.ellipse(19, y + 3.4, 4.2, 1.8, 0, Math.PI, 0, true);
  ctx.lineTo(23.2, y - 3);
  ctx.stroke();
  ctx.textAlign = "left";
  ctx.font = `400 11.5px ${FONT}`;
  ctx.fillStyle = brain.file ? theme.text : theme.faint;
  if (missing) ctx.fillStyle = theme.warn;
  const absent = missing ? "needs a brain" : "no brain";
  const name = brain.file ? brain.file.replace(/\.safetensors$/, "") : absent;
  ctx.fillText(truncate(ctx, name, width - 48, true), 30, y + 0.5);
}

function paintReroute(
  ctx: Context,
  { width, height, inputs, outputs }: NodeShape,
  appearance: NodeAppearance,
  theme: Theme,
): void {
  if (appearance.mode === "mute") ctx.globalAlpha = 0.42;
  ctx.fillStyle = theme.node;
  ctx.strokeStyle = appearance.fault ? theme.bad : theme.line;
  if (appearance.mode === "bypass") ctx.strokeStyle = theme.bypass;
  if (appearance.selected) ctx.strokeStyle = theme.accent;
  ctx.lineWidth = appearance.selected ? 2 : 1;
  ctx.beginPath();
  ctx.roundRect(0.5, 4.5, width - 1, height - 9, 8);
  ctx.fill();
  ctx.stroke();
  for (const port of inputs)
    paintSocket(ctx, 0, port.y, port, "in", appearance.isLinked(port, "in"), theme);
  for (const port of outputs)
    paintSocket(ctx, width, port.y, port, "out", appearance.isLinked(port, "out"), theme);
}

export function paintGroup(
  ctx: Context,
  { title, text, colour: chosen }: Group,
  [x, y, w, h]: readonly number[] | Float32Array,
  selected: boolean,
  theme: Theme,
): void {
  const colour = chosen ? chosenColour(chosen, theme.dark) : theme.accent;
  ctx.save();
  ctx.beginPath();
  ctx.roundRect(x!, y!, w!, h!, 14);
  ctx.globalAlpha = (theme.dark ? 0.05 : 0.06) * (text || chosen ? 2 : 1);
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.globalAlpha = selected ? 0.9 : 0.35;
  ctx.strokeStyle = colour;
  ctx.lineWidth = selected ? 2 : 1;
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.fillStyle = theme.muted;
  ctx.font = `600 14px ${FONT}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText(truncate(ctx, title, w! - 32), x! + 16, y! + 17);
  ctx.beginPath();
  ctx.moveTo(x! + w! - 14, y! + h! - 6);
  ctx.lineTo(x! + w! - 6, y! + h! - 14);
  ctx.stroke();
  ctx.font = NOTE_FONT;
  ctx.fillStyle = theme.text;
  const room = Math.floor((h! - FRAME_HEADER - 8) / NOTE_LINE);
  for (const [i, line] of wrap(ctx, text, w! - 32, room).entries())
    ctx.fillText(line, x! + 16, y! + FRAME_HEADER + (i + 0.5) * NOTE_LINE);
  ctx.restore();
}

/** Break a text into lines of a width, at most `most` of them; the last one ends with an ellipsis if something is left out. */
function wrap(ctx: Context, text: string, width: number, most: number): readonly string[] {
  const lines: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (lines.length > most) break;
      const longer = line ? `${line} ${word}` : word;
      if (line && ctx.measureText(longer).width > width) {
        lines.push(line);
        line = word;
      } else line = longer;
    }
    lines.push(line);
    if (lines.length > most) break;
  }
  const shown = lines.slice(0, Math.max(0, most));
  const last = shown.at(-1);
  if (last !== undefined && lines.length > most) shown[shown.length - 1] = `${last} …`;
  return shown.map((line) => truncate(ctx, line, width));
}

const truncatedTexts = new Map<string, string>();

/** Truncate a text to a width with an ellipsis, at its end, or at its beginning with `keepEnd`. */
export function truncate(ctx: Context, text: string, width: number, keepEnd = false): string {
  const key = `${ctx.font}|${Math.round(width)}|${text}`;
  const known = truncatedTexts.get(key);
  if (known !== undefined) return known;
  let result = text.length > 300 ? `${text.slice(0, 300)}…` : text;
  if (ctx.measureText(result).width > width) {
    let low = 0;
    let high = result.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const cut = keepEnd ? `…${result.slice(-middle)}` : `${result.slice(0, middle)}…`;
      if (ctx.measureText(cut).width <= width) low = middle;
      else high = middle - 1;
    }
    if (low === 0) result = width > 12 ? "…" : "";
    else result = keepEnd ? `…${result.slice(-low)}` : `${result.slice(0, low).trimEnd()}…`;
  }
  if (truncatedTexts.size > 5000) truncatedTexts.clear();
  truncatedTexts.set(key, result);
  return result;
}
