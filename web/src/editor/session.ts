/** The run that the page shows: starting it, steering it, and following what the server says of it. */

import { Keys } from "../live/keys";
import { Line } from "../live/line";
import { advance, isLive, newRun, type Run } from "../live/run";
import { Screens } from "../live/screens";
import { isObject, type JsonObject, same } from "../model/json";
import { modeOf } from "../model/workflow";
import { type Fault, faultText, Refused, server } from "../server";
import { ask, hush, say } from "../ui/overlay";
import type { Editor } from "./editor";

const CLOCK = "minibrains.clock";
/** A second stop ends the worker, so it has to be meant. */
const SECOND_STOP_MS = 1500;

export class Session {
  run: Run | null = null;
  connected = false;
  readonly #listeners = new Set<(what: "run" | "lists" | "workflows" | "brains") => void>();
  readonly #line: Line;
  readonly #screens: Screens;
  readonly #keys: Keys;
  readonly #others = new Map<string, string>();
  /** The nodes that the run on the page plays; null: it was not started from this workflow. */
  #edited: object | null = null;
  #stopped = { id: "", at: 0 };
  /** What Play took: the page may show another run before it is given back. */
  #played: { run: string; nodes: readonly string[] } = { run: "", nodes: [] };

  constructor(
    private readonly editor: Editor,
    layer: HTMLElement,
  ) {
    this.#line = new Line({
      event: (type, data) => this.#event(type, data as JsonObject),
      connected: (isOpen) => this.#connected(isOpen),
      frames: (seen) => {
        for (const [node, { count, tick }] of Object.entries(seen)) this.#screens.count(node, count, tick);
      },
    });
    this.#screens = new Screens(layer, editor.board, this.#line);
    this.#keys = new Keys({
      held: (keys) => this.#tellPads("input", { value: keys }),
      escaped: () => this.play(false),
    });
    document.addEventListener("visibilitychange", () => this.look());
    editor.on("selection", () => this.look());
    editor.on("faults", () => void this.#editLive());
    editor.on("document", () => this.run && editor.document.run !== this.run.id && this.forget());
  }

  on(listener: (what: "run" | "lists" | "workflows" | "brains") => void): void {
    this.#listeners.add(listener);
  }

  #emit(what: "run" | "lists" | "workflows" | "brains"): void {
    for (const listener of this.#listeners) listener(what);
  }

  get clock(): "realtime" | "fast" {
    return localStorage.getItem(CLOCK) === "fast" ? "fast" : "realtime";
  }

  set clock(clock: "realtime" | "fast") {
    localStorage.setItem(CLOCK, clock);
    this.#emit("run");
  }

  /** Start the workflow as it is on the page; what is wrong with it goes onto its nodes. */
  async start(): Promise<void> {
    const { workflow } = this.editor;
    if (Object.keys(workflow.nodes).length === 0)
      return say("There is nothing to run yet. Double click the canvas to add a node.");
    try {
      const settings = { ...(isObject(workflow.run) ? workflow.run : {}), clock: this.clock };
      const id = await server.run(workflow, this.editor.document.file, this.#line.client, settings);
      hush();
      this.follow(id);
      this.#edited = workflow.nodes;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const faults = Array.isArray(error.body.faults) ? (error.body.faults as Fault[]) : [];
      if (faults.length) this.editor.setFaults(faults);
      const first = faults[0];
      const more = faults.length > 1 ? ` And ${faults.length - 1} more.` : "";
      say(first ? `It cannot run yet. ${first.node ? `${first.node}: ` : ""}${faultText(first)}${more}` : error.message, "error");
    }
  }

  follow(id: string): void {
    if (this.run?.id !== id) {
      this.play(false);
      this.#screens.clear();
      this.#edited = null;
      this.run = newRun(id);
    }
    this.editor.document.run = id;
    this.#show();
    void this.#catchUp(id);
    this.#emit("lists");
  }

  /** What was missed. Where the websocket was faster it has told all that goes on, and the answer may be the older one. */
  async #catchUp(id: string): Promise<void> {
    const before = this.run;
    const info = await server.runInfo(id).catch((error: Error) => error);
    if (this.run?.id !== id) return;
    if (info instanceof Error) {
      if (info instanceof Refused && info.status === 404) this.#lost();
      return;
    }
    const data = info as unknown as JsonObject;
    const came = this.run.said.filter((line) => !before?.said.includes(line));
    if (this.run === before) {
      for (const type of ["run", "nodes", "values"])
        this.run = advance(this.run, type, type === "run" ? data : { ...data, prompt_id: id });
    }
    if (isObject(data.error)) this.run = advance(this.run, "failed", { ...data.error, prompt_id: id });
    else if (typeof data.error === "string") this.run = advance(this.run, "failed", { message: data.error, prompt_id: id });
    if (Array.isArray(data.said)) this.run = { ...this.run, said: [] };
    for (const line of Array.isArray(data.said) ? data.said : [])
      if (isObject(line)) this.run = advance(this.run, "said", { ...line, prompt_id: id });
    for (const text of came) if (!this.run.said.includes(text)) this.run = advance(this.run, "said", { text, prompt_id: id });
    if (isObject(data.result)) this.run = advance(this.run, "result", { summary: data.result, prompt_id: id });
    const { nodes } = this.editor.workflow;
    if (isObject(data.workflow) && same(data.workflow.nodes, nodes)) this.#edited ??= nodes; // it plays what is on the page
    this.#show();
  }

  /** No run on the page: nodes and pictures are as before any. The run itself goes on. */
  forget(): void {
    this.play(false);
    this.run = null;
    this.#edited = null;
    this.#screens.clear();
    this.#show();
  }

  /** The server knows nothing of the run: it was thrown away, or still waited in the queue when the server ended. */
  #lost(): void {
    this.editor.document.run = null;
    this.forget();
    say("The run that was shown here is no longer there.");
  }

  async steer(what: "stop" | "pause" | "resume", id = this.run?.id): Promise<void> {
    if (!id) return;
    if (what === "stop") {
      if (id === this.#stopped.id && performance.now() - this.#stopped.at < SECOND_STOP_MS) return; // a double click
      this.#stopped = { id, at: performance.now() };
    }
    await server.control(id, what).catch((error: Error) => say(error.message, "error"));
  }

  /** Keep the game on a console, as it stands now, as a save state that `states` can start from. */
  async saveState(node: string): Promise<void> {
    const { run } = this;
    const name = run && (await ask("Save the game as it stands", "Name", "", "Save state"));
    if (!run || !name) return;
    try {
      await server.saveState(run.id, node, name);
      say(`Saved. Write ${name} into states to start from it.`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(error.message, "error");
    }
  }

  /** The nodes of the page whose values come from whoever plays. */
  get pads(): readonly string[] {
    const { nodes } = this.editor.workflow;
    return Object.keys(nodes).filter((id) => this.editor.typeOf(id)?.outside && modeOf(nodes[id]!) === "run");
  }

  get isPlaying(): boolean {
    return this.#keys.isOn;
  }

  /** Keys and gamepads go to the run, from this page alone; or no longer. */
  play(isOn: boolean): void {
    const { run, pads } = this;
    if (isOn === this.isPlaying || (isOn && !(isLive(run) && pads.length))) return;
    if (isOn) {
      this.#played = { run: run!.id, nodes: pads };
      this.#tellPads("take");
    }
    this.#keys.turn(isOn);
    if (!isOn) this.#tellPads("release");
    document.body.toggleAttribute("data-playing", isOn);
    this.#emit("run");
  }

  #tellPads(type: "take" | "input" | "release", more: object = {}): void {
    const { run, nodes } = this.#played;
    for (const node of nodes) this.#line.send(type, { prompt_id: run, node, ...more });
  }

  /** Place the pictures, and tell the server what is on screen. */
  look(): void {
    const live = isLive(this.run);
    const previews = this.#screens.place(live);
    if (!this.run || !live) {
      this.#line.watch(null);
      return;
    }
    const isHidden = document.visibilityState === "hidden";
    const values = isHidden ? [] : this.editor.selection.filter((id) => this.editor.entry(id));
    this.#line.watch({ prompt_id: this.run.id, previews: isHidden ? [] : previews, values });
  }

  #connected(isOpen: boolean): void {
    const wasLost = !this.connected && isOpen;
    this.connected = isOpen;
    if (!isOpen) this.play(false);
    if (wasLost && this.run) void this.#catchUp(this.run.id);
    this.#emit("run");
    if (isOpen) for (const what of ["lists", "workflows", "brains"] as const) this.#emit(what);
  }

  #event(type: string, data: JsonObject): void {
    if (type === "status") {
      this.#emit("lists");
      return;
    }
    if (type === "files") {
      this.#emit(data.what === "brains" ? "brains" : "workflows");
      return;
    }
    if (type === "run" && typeof data.prompt_id === "string" && typeof data.state === "string") {
      if (this.#others.get(data.prompt_id) !== data.state) this.#emit("lists");
      this.#others.set(data.prompt_id, data.state);
    }
    if (!this.run) return;
    if (type === "taken" && data.prompt_id === this.run.id && this.isPlaying) {
      this.play(false);
      say("Another page plays this run now.");
    }
    const before = this.run;
    this.run = advance(before, type, data);
    if (this.run === before) return;
    if (this.run.error !== null && this.run.error !== before.error) say(this.run.error, "error");
    this.#show();
  }

  #show(): void {
    if (!isLive(this.run)) this.play(false);
    this.editor.board.annotate({ run: this.#looks(), values: isLive(this.run) ? this.run.values : new Map() });
    this.look();
    this.#emit("run");
  }

  /** How nodes look: when a run is over, only what it took and what failed. */
  #looks(): Run["nodes"] {
    const { run } = this;
    if (run === null) return new Map();
    if (isLive(run)) return run.nodes;
    return new Map([...(run as Run).nodes].map(([id, look]) => [id, look.error ? look : { ...look, state: null }]));
  }

  /** A sound change of the workflow goes into the run that was started from it; what it was keeps its state. */
  async #editLive(): Promise<void> {
    const { workflow, faults } = this.editor;
    if (!isLive(this.run) || !this.#edited || faults.length || workflow.nodes === this.#edited) return;
    this.#edited = workflow.nodes;
    try {
      await server.edit(this.run.id, workflow);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(`The running game goes on as it was: ${error.message}`, "error");
    }
  }
}
