/** The timeline below the canvas, of a recorded run that is rewound, or of the last ticks of one that is paused: a slider
 * over its ticks, marks, and those of a run beside it. */

import { api, type Timeline } from "../api";
import type { Editor } from "../editor/editor";
import type { Session } from "../editor/session";
import { isActive, isUnfinished, type Run } from "../live/run";
import {
  KINDS,
  type Kind,
  nearestMark,
  nextMark,
  ofKind,
  type TimelineMark,
  textAt,
} from "../model/timeline";
import { button, h, iconButton } from "./dom";
import { promptForText, showMessage } from "./overlay";

const HEIGHT = 18;
/** The height of a mark, and the name of its colour in the design system. */
const LOOKS: Readonly<Record<TimelineMark["kind"], readonly [number, string]>> = {
  decision: [5, "--muted"],
  reward: [11, "--good"],
  edit: [14, "--accent"],
  found: [14, "--accent"],
  exception: [HEIGHT, "--bad"],
  episode: [HEIGHT, "--text"],
  difference: [HEIGHT, "--accent"],
};
/** Distance in pixels within which a click finds a mark. */
const REACH = 6;
/** Number of ticks that the server keeps of a run that goes on. */
const RECENT = 600;

export class TimelineBar {
  #run: string | null = null;
  #timeline: Timeline | null = null;
  #found: readonly TimelineMark[] = [];
  /** What was looked for last. */
  #sought = "console.reward < 0";
  readonly #steps: readonly HTMLButtonElement[];
  readonly #slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Tick" });
  readonly #marks = h("canvas", { height: HEIGHT, "aria-hidden": "true" });
  readonly #comparisonMarks = h("canvas", { height: HEIGHT, "aria-hidden": "true", hidden: true });
  readonly #words = h("output", {});
  readonly #fork = button("Run from here", () => void this.session.fork(), "", "fork");
  /** What a fork would change, behind the words of its button. */
  readonly #changes = h("small", {});
  readonly #live = button("Go on live", () => void this.session.goLive(), "", "play");
  readonly #kind = h(
    "select",
    { class: "field", "aria-label": "Marks to go to" },
    ...Object.entries(KINDS).map(([value, name]) => h("option", { value }, name)),
  );

  constructor(
    private readonly element: HTMLElement,
    private readonly session: Session,
    editor: Editor,
  ) {
    const step = (by: 1 | -1) => () => void session.step(by);
    this.#steps = [
      iconButton("left", "One tick back (,)", step(-1)),
      iconButton("right", "One tick forwards (.)", step(1)),
    ];
    element.append(
      iconButton("back", "The mark before", () => this.#jump(-1)),
      ...this.#steps,
      iconButton("forwards", "The next mark", () => this.#jump(1)),
      this.#kind,
      iconButton("search", "Find a value", () => void this.#search()),
      h("div", { class: "timeline-track" }, this.#marks, this.#slider, this.#comparisonMarks),
      this.#words,
      this.#fork,
      this.#live,
    );
    this.#fork.append(this.#changes);
    this.#live.title = "Return to the run as it is now, and let it go on";
    this.#slider.addEventListener("input", () => void session.seek(Number(this.#slider.value)));
    this.#kind.addEventListener("change", () => void this.#choose());
    for (const canvas of [this.#marks, this.#comparisonMarks])
      canvas.addEventListener("click", (event) => this.#click(event, canvas));
    new ResizeObserver(() => this.#paint()).observe(this.#marks);
    session.on((what) => what === "run" && this.#update());
    editor.on("document", () => this.#showChanges());
  }

  /** Say what the page has changed: the ticks that are shown were played without it. */
  #showChanges(): void {
    const changes: string[] = [];
    for (const { name, details } of this.session.forkChanges)
      changes.push([name, ...details].join(" "));
    const count = changes.length;
    this.#changes.textContent = count ? ` with ${count} ${count === 1 ? "change" : "changes"}` : "";
    const words = "Play on from this tick with the workflow as it is on the page, beside this run";
    this.#fork.title = [`${words} (Shift B)`, ...changes].join("\n");
  }

  #update(): void {
    const { run, isInThePast } = this.session;
    const isWaiting = run?.state === "paused" && run.replayOf === null;
    const isShown = isWaiting || (isUnfinished(run) && run.replayOf !== null);
    this.element.hidden = !isShown;
    this.#live.hidden = !isInThePast;
    if (!isShown) {
      this.#run = this.#timeline = null;
      return;
    }
    if (isWaiting) {
      this.#offer(run);
      return;
    }
    if (this.#run !== run.id && isActive(run)) void this.#load(run.id);
    this.#showChanges();
    if (this.#timeline === null) {
      const ticks = isInThePast ? "the last ticks" : `the tape: tick ${number(run.ticks)}`;
      this.#words.textContent = `Reading ${ticks}`;
      return;
    }
    const tick = this.#tick;
    this.#setRange(this.#first, this.#last);
    if (document.activeElement !== this.#slider || !this.#slider.matches(":active"))
      this.#slider.value = String(tick);
    const text = textAt(this.#allMarks, tick);
    this.#words.textContent = `Tick ${number(tick)} of ${number(this.#last)}${text && `: ${text}`}`;
    this.#words.title = text;
    this.#paintIfChanged();
  }

  /** Offer the last ticks of a run that is paused; they are opened when one of them is asked for. */
  #offer(run: Run): void {
    if (this.#run !== run.id) {
      this.#run = run.id;
      this.#timeline = null;
      this.#found = [];
      this.#setEnabled(false);
      for (const part of [this.#slider, ...this.#steps]) part.disabled = false;
      this.#paint();
    }
    this.#setRange(Math.max(0, run.ticks - RECENT), run.ticks);
    this.#slider.value = String(run.ticks);
    this.#words.textContent = `Tick ${number(run.ticks)}; drag to see earlier ones`;
    this.#words.title = "";
  }

  #setRange(first: number, last: number): void {
    if (this.#slider.min !== String(first)) this.#slider.min = String(first);
    if (this.#slider.max !== String(last)) this.#slider.max = String(last);
  }

  /** Fetch the timeline; the answer comes once the tape is read. */
  async #load(id: string): Promise<void> {
    this.#run = id;
    this.#timeline = null;
    this.#found = [];
    this.#setEnabled(false);
    // it may be held by somebody who drags it
    this.#slider.disabled = !this.session.isInThePast;
    try {
      const timeline = await api.timeline(id);
      if (this.#run !== id) return;
      this.#timeline = timeline;
      this.session.timeline = timeline;
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
    this.#setEnabled(true);
    this.session.updateWatch();
    this.#update();
    this.#paint();
  }

  #setEnabled(isEnabled: boolean): void {
    for (const part of this.element.querySelectorAll<HTMLButtonElement>("button, input, select"))
      part.disabled = !isEnabled;
  }

  /** The timeline of the run beside this one, once its tape was read. */
  get #comparison(): Timeline | null {
    return this.session.comparison?.timeline ?? null;
  }

  get #first(): number {
    const first = this.#timeline?.first ?? 0;
    return Math.min(first, this.#comparison?.first ?? first);
  }

  get #last(): number {
    return Math.max(this.#timeline?.last ?? 0, this.#comparison?.last ?? 0);
  }

  /** The tick that is shown: after the end of the one run, that of the other. */
  get #tick(): number {
    const ticks = this.session.run?.ticks ?? 0;
    const isAtEnd = ticks === this.#timeline?.last && this.#comparison !== null;
    return isAtEnd ? Math.max(ticks, this.session.comparison?.run.ticks ?? 0) : ticks;
  }

  /** The marks of this run, of what was looked for, and of the difference to the run beside it. */
  get #allMarks(): readonly TimelineMark[] {
    const marks: TimelineMark[] = [...(this.#timeline?.marks ?? []), ...this.#found];
    const tick = this.#comparison && this.session.comparison?.differsAt;
    if (typeof tick === "number")
      marks.push({ tick, kind: "difference", node: "", text: "the two differ from here on" });
    return marks.sort((one, other) => one.tick - other.tick);
  }

  get #chosen(): readonly TimelineMark[] {
    return ofKind(this.#allMarks, this.#kind.value as Kind);
  }

  /** The chosen marks of the run beside this one. */
  get #chosenComparison(): readonly TimelineMark[] {
    return ofKind(this.#comparison?.marks ?? [], this.#kind.value as Kind);
  }

  /** Show other marks, and look for a value if there are none of that kind yet. */
  async #choose(): Promise<void> {
    if (this.#kind.value === "found" && this.#found.length === 0) await this.#search();
    this.#update();
    this.#paint();
  }

  /** Ask for a value, and go to the first tick that has it. What cannot be read is asked for again. */
  async #search(): Promise<void> {
    const id = this.session.run?.id;
    let isDone = id === undefined;
    while (!isDone) isDone = await this.#find(id!);
    this.#update();
    this.#paint();
  }

  /** Return whether nothing is left to ask. */
  async #find(id: string): Promise<boolean> {
    const label = "An output and a condition, or an output alone for its largest changes";
    const asked = await promptForText("Find ticks by a value", label, this.#sought, "Find");
    if (asked === null) return true;
    this.#sought = asked;
    const [output, ...condition] = asked.split(/\s+/);
    this.#words.textContent = `Looking for ${asked}`;
    try {
      this.#found = await api.find(id, output!, condition.join(" ") || undefined);
    } catch (error) {
      showMessage((error as Error).message, "error");
      return false;
    }
    this.#kind.value = "found";
    if (this.#found.length === 0) showMessage(`No tick of this run has ${asked}.`);
    else this.#jump(1);
    return true;
  }

  #jump(by: 1 | -1): void {
    const marks = [...this.#chosen, ...this.#chosenComparison].sort((a, b) => a.tick - b.tick);
    const tick = nextMark(marks, this.#tick, by);
    if (tick !== null) void this.session.seek(tick);
  }

  #click(event: MouseEvent, canvas: HTMLCanvasElement): void {
    if (!this.#timeline) return;
    const { left, width } = canvas.getBoundingClientRect();
    const perPixel = (this.#last - this.#first) / width;
    const tick = Math.round(this.#first + (event.clientX - left) * perPixel);
    const marks = canvas === this.#marks ? this.#chosen : this.#chosenComparison;
    void this.session.seek(nearestMark(marks, tick, REACH * perPixel));
  }

  #painted = "";

  /** Paint again when a run was opened beside this one, or closed. */
  #paintIfChanged(): void {
    const shown = `${this.#first} ${this.#last} ${this.session.comparison?.differsAt} ${this.#comparison !== null}`;
    if (shown === this.#painted) return;
    this.#painted = shown;
    this.#paint();
  }

  #paint(): void {
    paintMarks(this.#marks, this.#chosen, this.#first, this.#last);
    this.#comparisonMarks.hidden = this.#comparison === null;
    if (this.#comparison === null) return;
    const difference = this.#allMarks.filter(({ kind }) => kind === "difference");
    const marks = [...this.#chosenComparison, ...difference];
    paintMarks(this.#comparisonMarks, marks, this.#first, this.#last);
  }
}

const number = (tick: number) => tick.toLocaleString("en");

function paintMarks(
  canvas: HTMLCanvasElement,
  marks: readonly TimelineMark[],
  first: number,
  last: number,
): void {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const colours = getComputedStyle(canvas);
  for (const { tick, kind, text } of marks) {
    const [height, colour] = LOOKS[kind];
    const isLoss = kind === "reward" && text.startsWith("-");
    context.fillStyle = colours.getPropertyValue(isLoss ? "--bad" : colour);
    const x = ((tick - first) / Math.max(1, last - first)) * (width - 2);
    context.fillRect(x, HEIGHT - height, 2, height);
  }
}
