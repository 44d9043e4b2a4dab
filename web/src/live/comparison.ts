/** A second run beside the recorded one that the page shows: a fork of it, or one to compare it with. It is watched while
 * it is played, and then opened from its tape. It has a connection of its own, because a connection watches one run. */

import { api, type Difference, type Timeline } from "../api";
import { isObject, type JsonObject } from "../model/json";
import { showMessage } from "../ui/overlay";
import { Connection } from "./connection";
import { applyEvent, isActive, isUnfinished, newRun, type Run } from "./run";
import { countFrames } from "./screens";
import { Seeking } from "./seeking";

export interface ComparisonEvents {
  changed(): void;
  /** Its tape was read: from now on it can be shown at any tick. */
  read(): void;
  /** Return the node whose pictures are shown; null: none. */
  consoleIn(workflow: JsonObject): string | null;
}

export class Comparison {
  run: Run;
  /** Length and marks, once its tape was read. */
  timeline: Timeline | null = null;
  /** Where the two runs differ first; null: it is not known yet. */
  difference: Difference | null = null;
  readonly #connection: Connection;
  readonly #opened = new Set<string>();
  #seeking: Seeking | null = null;
  #console: string | null = null;
  #canvas: HTMLCanvasElement | null = null;
  #isClosed = false;

  /** Show a run beside the one with the id `original`, which is rewound. `isFork`: it is a fork of that. */
  constructor(
    id: string,
    readonly isFork: boolean,
    private readonly original: string,
    private readonly events: ComparisonEvents,
  ) {
    this.run = newRun(id);
    this.#connection = new Connection({
      event: (type, data) => this.#event(type, data as JsonObject),
      connected: (isOpen) => isOpen && void this.#catchUp(),
      frames: (seen) => {
        for (const { count, tick } of Object.values(seen))
          if (this.#canvas) countFrames(this.#canvas, count, tick);
      },
    });
  }

  /** Show the pictures of its game on a canvas. */
  show(canvas: HTMLCanvasElement): void {
    this.#canvas = canvas;
    this.#watch();
  }

  /** The first tick at which the two runs differ; null: there is none, or it is not known yet. */
  get differsAt(): number | null {
    return this.difference?.tick ?? null;
  }

  /** Show a tick of it, as soon as its tape was read. */
  async seek(tick: number): Promise<void> {
    if (this.timeline) await this.#seeking?.to(Math.min(tick, this.timeline.last));
  }

  /** Show a tick of it, and play it from there to its end. */
  async playFrom(tick: number): Promise<void> {
    await this.seek(tick);
    if (this.timeline && tick < this.timeline.last) await api.control(this.run.id, "resume");
  }

  /** Stop watching it. A fork that is being played goes on; a tape is closed, because it holds a worker. */
  close(): void {
    this.#isClosed = true;
    this.#connection.close();
    if (isUnfinished(this.run) && this.run.replayOf !== null)
      void api.control(this.run.id, "stop").catch(() => undefined);
  }

  /** What the server does not send, because it was over before the connection: its state and its workflow. */
  async #catchUp(): Promise<void> {
    const { id } = this.run;
    const info = await api.runInfo(id).catch(() => null);
    if (info === null || id !== this.run.id || this.#isClosed) return;
    const data = info as unknown as JsonObject;
    if (isObject(data.workflow) && isObject(data.workflow.nodes))
      this.#console = this.events.consoleIn(data.workflow);
    this.#watch();
    this.#event("run", data);
    if (isObject(data.result)) this.#event("result", { summary: data.result, prompt_id: id });
  }

  #watch(): void {
    const node = this.#console;
    if (node === null || this.#canvas === null) return;
    if (!this.#opened.has("screen")) {
      this.#opened.add("screen");
      this.#connection.addScreen(node, this.#canvas);
    }
    const previews = [node];
    this.#connection.watch({
      prompt_id: this.run.id,
      previews,
      values: [],
      full: [],
      budgets: [],
    });
  }

  #event(type: string, data: JsonObject): void {
    const before = this.run;
    this.run = applyEvent(before, type, data);
    if (this.run === before || this.#isClosed) return;
    const isTape = this.run.replayOf !== null;
    if (!isTape && !isUnfinished(this.run)) void this.#once("tape", () => this.#openTape());
    if (isTape && isActive(this.run)) void this.#once("timeline", () => this.#readTimeline());
    this.events.changed();
  }

  async #once(what: string, action: () => Promise<void>): Promise<void> {
    if (this.#opened.has(what)) return;
    this.#opened.add(what);
    await action().catch((error: Error) => showMessage(error.message, "error"));
  }

  async #openTape(): Promise<void> {
    // its end is told before its result
    const { result } = await api.runInfo(this.run.id);
    const id = await api.rewind(this.run.id, this.#connection.client);
    this.run = { ...newRun(id), result: result && isObject(result) ? result : null };
    this.#seeking = new Seeking(id);
    await this.#catchUp();
  }

  async #readTimeline(): Promise<void> {
    const timeline = await api.timeline(this.run.id);
    const difference = await api.difference(this.original, this.run.id);
    if (this.#isClosed) return;
    this.timeline = timeline;
    this.difference = difference;
    this.events.read();
  }
}
