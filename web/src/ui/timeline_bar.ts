/** The timeline below the canvas, of a recorded run that is rewound: a slider over its ticks, and marks. */

import { api, type Mark, type Timeline } from "../api";
import type { Session } from "../editor/session";
import { isLive, isTicking } from "../live/run";
import { KINDS, type Kind, nearestMark, nextMark, ofKind, textAt } from "../model/timeline";
import { h, iconButton } from "./dom";
import { showMessage } from "./overlay";

const HEIGHT = 18;
/** The height of a mark, and the name of its colour in the design system. */
const LOOKS: Readonly<Record<Mark["kind"], readonly [number, string]>> = {
  decision: [5, "--muted"],
  reward: [11, "--good"],
  edit: [14, "--accent"],
  exception: [HEIGHT, "--bad"],
  episode: [HEIGHT, "--text"],
};
/** Distance in pixels within which a click finds a mark. */
const REACH = 6;

export class TimelineBar {
  #run: string | null = null;
  #timeline: Timeline | null = null;
  readonly #slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Tick" });
  readonly #marks = h("canvas", { height: HEIGHT, "aria-hidden": "true" });
  readonly #words = h("output", {});
  readonly #kind = h(
    "select",
    { class: "field", "aria-label": "Marks to go to" },
    ...Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)),
  );

  constructor(
    private readonly element: HTMLElement,
    private readonly session: Session,
  ) {
    const step = (by: 1 | -1) => () => void session.step(by);
    element.append(
      iconButton("back", "The mark before", () => this.#jump(-1)),
      iconButton("left", "One tick back (,)", step(-1)),
      iconButton("right", "One tick forwards (.)", step(1)),
      iconButton("forwards", "The next mark", () => this.#jump(1)),
      this.#kind,
      h("div", { class: "timeline-track" }, this.#marks, this.#slider),
      this.#words,
    );
    this.#slider.addEventListener("input", () => void session.seek(Number(this.#slider.value)));
    this.#kind.addEventListener("change", () => this.#paint());
    this.#marks.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#paint()).observe(this.#marks);
    session.on((what) => what === "run" && this.#update());
  }

  #update(): void {
    const { run } = this.session;
    const isShown = isLive(run) && run.rewinds !== null;
    this.element.hidden = !isShown;
    if (!isShown) {
      this.#run = this.#timeline = null;
      return;
    }
    if (this.#run !== run.id && isTicking(run)) void this.#load(run.id);
    if (this.#timeline === null) {
      this.#words.textContent = `Reading the tape: tick ${run.ticks.toLocaleString("en")}`;
      return;
    }
    if (document.activeElement !== this.#slider || !this.#slider.matches(":active"))
      this.#slider.value = String(run.ticks);
    const { last, marks } = this.#timeline;
    const tick = run.ticks.toLocaleString("en");
    const text = textAt(marks, run.ticks);
    this.#words.textContent = `Tick ${tick} of ${last.toLocaleString("en")}${text && `: ${text}`}`;
    this.#words.title = text;
  }

  /** Fetch the timeline; the answer comes once the tape is read. */
  async #load(id: string): Promise<void> {
    this.#run = id;
    this.#timeline = null;
    this.#setEnabled(false);
    try {
      const timeline = await api.timeline(id);
      if (this.#run !== id) return;
      this.#timeline = timeline;
      const { difference } = timeline;
      if (difference)
        showMessage(
          `This run cannot be played again exactly: between ticks ${difference.from} and ${difference.to} it differs from its tape.`,
          "error",
        );
    } catch (error) {
      if (this.#run === id) showMessage((error as Error).message, "error");
      return;
    }
    this.#slider.max = String(this.#timeline.last);
    this.#setEnabled(true);
    this.#paint();
    this.#update();
  }

  #setEnabled(isEnabled: boolean): void {
    for (const part of this.element.querySelectorAll<HTMLButtonElement>("button, input, select"))
      part.disabled = !isEnabled;
  }

  get #chosen(): readonly Mark[] {
    return ofKind(this.#timeline?.marks ?? [], this.#kind.value as Kind);
  }

  #jump(by: 1 | -1): void {
    const tick = nextMark(this.#chosen, this.session.run?.ticks ?? 0, by);
    if (tick !== null) void this.session.seek(tick);
  }

  #click(event: MouseEvent): void {
    if (!this.#timeline) return;
    const { left, width } = this.#marks.getBoundingClientRect();
    const perPixel = this.#timeline.last / width;
    const tick = Math.round((event.clientX - left) * perPixel);
    void this.session.seek(nearestMark(this.#chosen, tick, REACH * perPixel));
  }

  #paint(): void {
    const ratio = devicePixelRatio || 1;
    const width = this.#marks.clientWidth;
    this.#marks.width = width * ratio;
    this.#marks.height = HEIGHT * ratio;
    const context = this.#marks.getContext("2d")!;
    context.scale(ratio, ratio);
    const colours = getComputedStyle(this.element);
    const last = Math.max(1, this.#timeline?.last ?? 1);
    for (const { tick, kind, text } of this.#chosen) {
      const [height, colour] = LOOKS[kind];
      const isLoss = kind === "reward" && text.startsWith("-");
      context.fillStyle = colours.getPropertyValue(isLoss ? "--bad" : colour);
      context.fillRect((tick / last) * (width - 2), HEIGHT - height, 2, height);
    }
  }
}
