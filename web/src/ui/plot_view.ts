/** The recent course of a number, as a line. */

import { h } from "./dom";

const PADDING = 8;
/** Height of the line of text below the plot. */
const TEXT = 20;

/** Return an element with a plot of values by tick, and their least, greatest and last one in words. */
export function plotView(
  course: readonly (readonly [tick: number, value: number])[],
  width: number,
  height: number,
): HTMLElement {
  const values = course.map(([, value]) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const last = values.at(-1)!;
  const words = `${numberText(last)}; from ${numberText(least)} to ${numberText(most)}, over ${ticksText(course)}`;
  const canvas = h("canvas", { "aria-hidden": "true" });
  paint(canvas, course, least, most, width, height - TEXT);
  return h("div", { class: "plot" }, canvas, h("small", {}, words));
}

function ticksText(course: readonly (readonly [number, number])[]): string {
  const ticks = course.at(-1)![0] - course[0]![0];
  return `${ticks.toLocaleString("en")} ticks`;
}

const numberText = (value: number) =>
  Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));

function paint(
  canvas: HTMLCanvasElement,
  course: readonly (readonly [number, number])[],
  least: number,
  most: number,
  width: number,
  height: number,
): void {
  const ratio = (devicePixelRatio || 1) * 2; // the view may be zoomed in
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const first = course[0]![0];
  const span = Math.max(1, course.at(-1)![0] - first);
  const range = most - least || 1;
  const x = (tick: number) => PADDING + ((tick - first) / span) * (width - 2 * PADDING);
  const y = (value: number) =>
    height - PADDING - ((value - least) / range) * (height - 2 * PADDING);
  context.strokeStyle = style.getPropertyValue("--line");
  if (least <= 0 && most >= 0) context.strokeRect(PADDING, y(0), width - 2 * PADDING, 0);
  context.strokeStyle = style.getPropertyValue("--accent");
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.beginPath();
  for (const [tick, value] of course) context.lineTo(x(tick), y(value));
  context.stroke();
}
