/** The line at the top of the canvas that says how much of a frame the ticks take, which node is the slowest, and why deadlines were missed. */

import { paintBudgetStrip } from "../canvas/budget_strip";
import { readTheme } from "../canvas/theme";
import type { Editor } from "../editor/editor";
import type { Session } from "../editor/session";
import { type Budget, durationText, meanOf, missedText, WHOLE_TICK } from "../live/budget";
import { isUnfinished } from "../live/run";
import { h } from "./dom";

const WIDTH = 120;
const HEIGHT = 18;

export function budgetBar(element: HTMLElement, editor: Editor, session: Session): void {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const words = h("span", {});
  const select = () => {
    const node = session.run?.budget.slowest?.node;
    if (node) editor.goTo(node);
  };
  const title = "The last 60 ticks against a frame; click to select the slowest node";
  const button = h("button", { type: "button", title, onclick: select }, canvas, words);
  element.append(button);
  let shown: Budget | null = null;
  const show = () => {
    const { run } = session;
    const isShown = isUnfinished(run) && session.showsBudgets && run.budget.nodes.size > 0;
    button.hidden = !isShown;
    if (!isShown || run.budget === shown) return;
    shown = run.budget;
    words.textContent = budgetText(run.budget);
    paint(canvas, run.budget);
  };
  session.on((what) => what === "run" && show());
  show();
}

function budgetText({ nodes, frameUs, slowest, missed }: Budget): string {
  const mean = durationText(meanOf(nodes.get(WHOLE_TICK)?.us ?? []));
  const parts = [
    frameUs === null ? `${mean} a tick` : `${mean} of ${durationText(frameUs)} a tick`,
  ];
  if (slowest) parts.push(`slowest: ${slowest.node}, ${durationText(slowest.us)}`);
  if (missed) parts.push(missedText(missed));
  return parts.join("; ");
}

function paint(canvas: HTMLCanvasElement, { nodes, frameUs }: Budget): void {
  const times = nodes.get(WHOLE_TICK);
  if (!times) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = WIDTH * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  paintBudgetStrip(context, times, frameUs, [0, 0, WIDTH, HEIGHT], readTheme());
}
