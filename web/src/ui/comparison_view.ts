/** The games of two runs side by side, at the same tick: the recorded one, and a fork of it or another one. */

import type { Timeline } from "../api";
import type { Session } from "../editor/session";
import type { Comparison } from "../live/comparison";
import type { Run } from "../live/run";
import { textAt } from "../model/timeline";
import { h, iconButton } from "./dom";

/** Number of values that are named where two runs differ. */
const SHOWN = 2;

export class ComparisonView {
  #shown: Comparison | null = null;
  readonly #words = { this: h("figcaption"), other: h("figcaption") };
  readonly #games = h("div", { class: "comparison-games" });
  readonly #difference = h("p", { role: "status" });

  constructor(
    private readonly element: HTMLElement,
    private readonly session: Session,
  ) {
    const close = iconButton("close", "Show only one run", () => session.closeComparison(), {
      class: "small",
    });
    element.append(h("header", {}, this.#difference, close), this.#games);
    session.on((what) => what === "run" && this.#update());
  }

  #update(): void {
    const { comparison, run } = this.session;
    this.element.hidden = comparison === null;
    if (comparison !== this.#shown) this.#show(comparison);
    if (comparison === null || run === null) return;
    this.#words.this.textContent = `Recorded: ${shownText(run, this.session.timeline)}`;
    const name = comparison.isFork ? "Fork" : "The other";
    this.#words.other.textContent = `${name}: ${comparisonText(comparison)}`;
    this.#difference.textContent = differenceText(comparison);
    this.#difference.title = valueTexts(comparison).join("\n");
  }

  #show(comparison: Comparison | null): void {
    this.#shown = comparison;
    if (comparison === null) {
      this.#games.replaceChildren();
      return;
    }
    const game = (label: string) =>
      h("canvas", { role: "img", "aria-label": label, data: { game: label } });
    const [recorded, other] = [game("The recorded game"), game("The other game")];
    this.#games.replaceChildren(
      h("figure", {}, recorded, this.#words.this),
      h("figure", {}, other, this.#words.other),
    );
    this.session.showGame(recorded);
    comparison.show(other);
  }
}

const number = (tick: number) => tick.toLocaleString("en");

const tickText = (tick: number) => `tick ${number(tick)}`;

/** What is said of a recorded run: what happened at the tick that is shown, and how the game ended. */
function shownText({ ticks }: Run, timeline: Timeline | null): string {
  const marks = timeline?.marks ?? [];
  const now = [tickText(ticks), textAt(marks, ticks)].filter(Boolean).join(", ");
  const end = marks.findLast(({ kind }) => kind === "episode");
  return end && end.tick !== ticks ? `${now} (${tickText(end.tick)}: ${end.text})` : now;
}

function comparisonText({ run, timeline }: Comparison): string {
  if (timeline) return shownText(run, timeline);
  if (run.replayOf !== null) return `reading its tape, ${tickText(run.ticks)}`;
  return run.state === "running" ? `playing, ${tickText(run.ticks)}` : run.state;
}

function differenceText(comparison: Comparison): string {
  const { difference } = comparison;
  if (difference === null) return "Side by side";
  if (difference.tick === null) return "The two are identical up to the end of the shorter one";
  const texts = valueTexts(comparison);
  const more = texts.length - SHOWN;
  const shown = [...texts.slice(0, SHOWN), more > 0 && `${more} more`].filter(Boolean).join("; ");
  return `The two differ from ${tickText(difference.tick)} on: ${shown}`;
}

/** What differs first, such as "console.pad1: LEFT → RIGHT, A". */
function valueTexts({ difference }: Comparison): string[] {
  const values = Object.entries(difference?.values ?? {});
  return values.map(([name, both]) => `${name}: ${both.join(" → ")}`);
}
