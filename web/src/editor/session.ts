/** The run that the page shows: starts it, controls it, and applies the server's events to it. */

import { api, type Control, type Fault, faultText, RequestError, type Timeline } from "../api";
import { WHOLE_TICK } from "../live/budget";
import { Comparison } from "../live/comparison";
import { Connection } from "../live/connection";
import { FullPicture } from "../live/full_picture";
import { LiveView } from "../live/live_view";
import { PlayerInput } from "../live/player_input";
import { applyEvent, isActive, isUnfinished, newRun, type Run } from "../live/run";
import { countFrames, Screens } from "../live/screens";
import { Seeking } from "../live/seeking";
import { wireValues } from "../live/wire_values";
import { type Change, diffWorkflows } from "../model/diff";
import { isObject, type JsonObject, same } from "../model/json";
import { withoutReplacedNodes } from "../model/replaced_nodes";
import type { Asking } from "../model/samples";
import { flatNodes, shownOutputs } from "../model/subgraphs";
import type { Sweep } from "../model/sweep";
import { modeOf, type Workflow } from "../model/workflow";
import { download } from "../ui/dom";
import { clearMessages, promptForText, showMessage } from "../ui/overlay";
import type { Editor } from "./editor";

/** A second stop kills the worker, so one that comes sooner than this is taken for a double click. */
const SECOND_STOP_MS = 1500;

/** Number of nodes that the server sends in full. */
const MAX_IN_FULL = 10;

/** The name, for the web worker, of the canvas beside that of another run; no node can have it. */
const COMPARISON = "comparison";

/** Return whether two workflows have the same nodes, also inside of boxes. */
const isSameGraph = (a: Workflow, b: Workflow): boolean =>
  same(a.nodes, b.nodes) && same(a.defs ?? {}, b.defs ?? {});

/** Return whether a run, whose workflow this is, plays the graph that is shown. */
const isPlayed = (played: JsonObject, shown: Workflow): boolean =>
  isSameGraph(withoutReplacedNodes(played as unknown as Workflow), shown);

/** What was sent to a run last. It plays this unless it has refused it, or it was lost on the way. */
interface Sent {
  readonly workflow: Workflow;
  readonly breakpoints: JsonObject;
}

type Topic =
  | "run"
  | "lists"
  | "workflows"
  | "parts"
  | "brains"
  | "games"
  | "data"
  | "asking"
  | "sweep";

export class Session {
  run: Run | null = null;
  connected = false;
  /** Progress of asking a brain about a data set, as last reported by the server. */
  asking: Asking | null = null;
  /** The latest sweep, as the server said last. */
  sweep: Sweep | null = null;
  readonly view = new LiveView();
  /** The node that is watched in full; null: none. */
  #full: string | null = null;
  /** Places what Preview nodes show beside pictures, and returns those that are visible. */
  updatePreviews: (run: Run | null) => readonly string[] = () => [];
  /** The picture of this node, if it has one. */
  picture: FullPicture | null = null;
  readonly #listeners = new Set<(what: Topic) => void>();
  readonly #connection: Connection;
  readonly #screens: Screens;
  readonly #input: PlayerInput;
  readonly #otherStates = new Map<string, string>();
  /** What was sent to the run last, or what it plays if that is this graph; else null. */
  #sent: Sent | null = null;
  /** What the run that is rewound has played. */
  #recordedGraph: Workflow | null = null;
  #isEditing = false;
  #stopped = { id: "", at: 0 };
  /** The seed of the run that this page requested last. */
  #lastSeed = 0;
  #behind: { workflow: Workflow; outputs: ReadonlyMap<string, string> } | null = null;
  /** A second run beside the one that is rewound, at the same tick; null: there is none. */
  comparison: Comparison | null = null;
  #gameCanvas: HTMLCanvasElement | null = null;
  #seeking: Seeking | null = null;
  /** The numbers that Preview nodes are given on all ticks of the run that is rewound, once its tape was read. */
  timeline: Timeline | null = null;
  /** The tick to show once the tape is being read. */
  #wanted: number | null = null;
  /** The run whose last ticks are shown, which waits meanwhile. */
  #waiting: { id: string; sent: Sent | null } | null = null;
  /** The run and the nodes whose input this page took: it may show another run before it releases them. */
  #taken: { run: string; nodes: readonly string[] } = { run: "", nodes: [] };

  constructor(
    private readonly editor: Editor,
    layer: HTMLElement,
  ) {
    this.#connection = new Connection({
      event: (type, data) => this.#event(type, data as JsonObject),
      connected: (isOpen) => this.#connected(isOpen),
      frames: (seen) => {
        for (const [node, painted] of Object.entries(seen)) {
          this.#screens.countFrames(node, painted.count, painted.tick);
          this.picture?.painted(node, painted);
          if (node === this.#game && this.#gameCanvas)
            countFrames(this.#gameCanvas, painted.count, painted.tick);
        }
      },
    });
    this.#screens = new Screens(layer, editor.board, this.#connection);
    this.#input = new PlayerInput({
      held: (keys) => this.#sendToPads("input", { value: keys }),
      escaped: () => this.play(false),
    });
    document.addEventListener("visibilitychange", () => this.updateWatch());
    editor.on("selection", () => this.updateWatch());
    editor.on("path", () => this.#render());
    // usually because the server has checked the workflow
    editor.on("faults", () => void this.#editLive());
    editor.on("document", () => this.run && editor.document.run !== this.run.id && this.clearRun());
  }

  /** Call a function whenever something happens. Returns a function that ends this. */
  on(listener: (what: Topic) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #emit(what: Topic): void {
    for (const listener of this.#listeners) listener(what);
  }

  /** Run the workflow as it is on the page; with `recording` the run leaves a tape and a clip. Faults are shown at their nodes. */
  async start(recording = false): Promise<void> {
    const { workflow } = this.editor.document;
    const { run } = workflow;
    const seed = isObject(run) && typeof run.seed === "number" ? run.seed : 0;
    const id = await this.#request(workflow, seed, recording);
    if (id === null) return;
    this.#lastSeed = seed;
    this.follow(id);
    this.#sent = { workflow, breakpoints: workflow.breakpoints ?? {} };
  }

  /** Queue one more run of the workflow as it is on the page, with the next seed. What the page shows stays. */
  async enqueue(): Promise<void> {
    const seed = this.#lastSeed + 1;
    if ((await this.#request(this.editor.document.workflow, seed, false)) === null) return;
    this.#lastSeed = seed;
    showMessage(`A run with seed ${seed} is in the queue: see Runs.`);
    this.#emit("lists");
  }

  /** Ask the server for a run; return its id, or null if it was refused. */
  async #request(workflow: Workflow, seed: number, recording: boolean): Promise<string | null> {
    if (Object.keys(workflow.nodes).length === 0) {
      showMessage("There is nothing to run yet. Double click the canvas to add a node.");
      return null;
    }
    const { file } = this.editor.document;
    const run = isObject(workflow.run) ? workflow.run : {};
    const settings = { ...run, seed, clock: this.editor.clock };
    try {
      const id = await api.run(workflow, file, this.#connection.client, settings, recording);
      clearMessages();
      return id;
    } catch (error) {
      this.#showRefusal(error);
      return null;
    }
  }

  /** Say why a workflow cannot run; faults are shown at their nodes. */
  #showRefusal(error: unknown): void {
    if (!(error instanceof RequestError)) throw error;
    const faults = Array.isArray(error.body.faults) ? (error.body.faults as Fault[]) : [];
    const first = faults.find((fault) => fault.node);
    if (!first) {
      showMessage(error.message, "error");
      return;
    }
    this.editor.setFaults(faults);
    const more = faults.length > 1 ? ` And ${faults.length - 1} more.` : "";
    showMessage(`It cannot run yet. ${first.node}: ${faultText(first)}${more}`, "error");
  }

  /** Open the tape of a finished run, or the last ticks of the one that is shown, to see any of its ticks. */
  async rewind(id: string): Promise<void> {
    const isShown = isActive(this.run) && this.run.id === id;
    const waiting = { id, sent: this.#sent };
    try {
      const opened = await api.rewind(id, this.#connection.client);
      void this.#show(opened, isShown);
      this.#waiting = isShown ? waiting : null;
      this.#emit("run");
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#wanted = null;
      showMessage(error.message, "error");
    }
  }

  /** Open the tape of the run that is shown and over. */
  rewindShown(): void {
    if (this.run) void this.rewind(this.run.replayOf ?? this.run.id);
  }

  /** Whether the page shows the last ticks of a run that will continue. */
  get isInThePast(): boolean {
    return this.#waiting !== null && this.run?.replayOf === this.#waiting.id;
  }

  /** Return from its last ticks to the run itself, which is still paused, with what was changed on the page meanwhile. */
  async #return(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting === null) return;
    const shown = this.#show(waiting.id, true);
    this.#sent = waiting.sent;
    await shown;
    await this.#editLive();
  }

  /** Let the run whose last ticks are shown go on. */
  async goLive(): Promise<void> {
    await this.#return();
    await this.control("resume");
  }

  /** Show another tick of the run that is rewound, and of the one beside it; of a run that goes on, open its last ticks first. */
  async seek(tick: number): Promise<void> {
    const { run } = this;
    if (!isActive(run)) {
      if (this.isInThePast) this.#wanted = tick;
      return;
    }
    if (run.replayOf === null) {
      const isOpening = this.#wanted !== null;
      this.#wanted = tick;
      if (!isOpening) await this.rewind(run.id);
      return;
    }
    if (this.#seeking?.run !== run.id) this.#seeking = new Seeking(run.id);
    void this.comparison?.seek(tick);
    await this.#seeking.to(tick);
  }

  /** Play one tick, or return to the one before; then the run is paused. */
  async step(by: 1 | -1): Promise<void> {
    const { run } = this;
    if (!isActive(run)) return;
    if (run.replayOf !== null || by === -1) await this.seek(Math.max(0, run.ticks + by));
    else await this.control("step");
  }

  /** Only a recorded run has a state at each of its ticks. */
  get canFork(): boolean {
    return isActive(this.run) && this.run.replayOf !== null;
  }

  /** The changes on the page with which a fork would play, compared with the run that is rewound. */
  get forkChanges(): readonly Change[] {
    const recorded = this.#recordedGraph;
    const { workflow } = this.editor.document;
    if (recorded === null || isSameGraph(recorded, workflow)) return [];
    const played = ({ nodes, defs }: Workflow) => ({ ...workflow, nodes, defs });
    return diffWorkflows(played(recorded), played(workflow));
  }

  /** Play the run that is rewound on from the tick that is shown, with the workflow as it is on the page, and show both. */
  async fork(): Promise<void> {
    const { run } = this;
    if (!this.canFork || !run) return;
    const { workflow, file } = this.editor.document;
    const isBusy = this.comparison?.isFork && this.comparison.run.replayOf === null;
    this.closeComparison(); // the new fork takes its worker
    if (isBusy) showMessage("It begins when the previous fork has finished.");
    try {
      const { prompt_id, tick } = await api.fork(run.id, run.ticks, workflow, file);
      clearMessages();
      if (tick !== run.ticks)
        showMessage(
          `It begins at tick ${tick}: a node was asked then, and has not answered since.`,
        );
      this.showComparison(prompt_id, true);
    } catch (error) {
      this.#showRefusal(error);
    }
  }

  /** Show another run beside the one that is rewound. */
  showComparison(id: string, isFork: boolean): void {
    if (!this.canFork || !this.run) return;
    this.closeComparison();
    const comparison = new Comparison(id, isFork, this.run.id, {
      changed: () => {
        // while it is played, this one goes with it
        if (isActive(comparison.run) && comparison.run.replayOf === null)
          void this.seek(comparison.run.ticks);
        this.#emit("run");
      },
      read: () => {
        void this.seek(comparison.differsAt ?? this.run?.ticks ?? 0);
        this.#emit("run");
      },
      consoleIn: (workflow) => this.editor.consoleIn(workflow as unknown as Workflow),
    });
    this.comparison = comparison;
    this.#emit("run");
    this.#emit("lists");
  }

  /** Show only one run again. */
  closeComparison(): void {
    if (this.comparison === null) return;
    this.comparison.close();
    this.comparison = this.#gameCanvas = null;
    this.#connection.dropScreen(COMPARISON);
    this.updateWatch();
    this.#emit("run");
  }

  /** Show the pictures of the game of this run on a canvas, for those of the run beside it. */
  showGame(canvas: HTMLCanvasElement): void {
    const node = this.#game;
    this.#gameCanvas = canvas;
    if (node !== null) this.#connection.addScreen(node, canvas, COMPARISON);
    this.updateWatch();
  }

  /** The console whose pictures are shown beside those of another run; null: none. */
  get #game(): string | null {
    return this.comparison && this.editor.console;
  }

  /** A run that is rewound holds a worker, which is given back when it is no longer shown. */
  #leaveRewound(): void {
    this.closeComparison();
    if (isUnfinished(this.run) && this.run.replayOf !== null)
      void api.control(this.run.id, "stop").catch(() => undefined);
  }

  follow(id: string): void {
    void this.#show(id);
  }

  /** Show a run; `isSame`: other ticks of the same run are shown, so its pictures stay until there are new ones. */
  async #show(id: string, isSame = false): Promise<void> {
    if (this.run?.id !== id) {
      this.#leaveRewound();
      this.#waiting = null;
      this.play(false);
      if (!isSame) this.#screens.clear();
      this.#sent = null;
      this.#recordedGraph = null;
      this.timeline = null;
      this.run = newRun(id);
    }
    this.editor.document.run = id;
    this.#render();
    this.#emit("lists");
    await this.#catchUp(id);
  }

  /** Fetch what was missed. Whatever the websocket has reported in the meantime is newer than the answer, and stays. */
  async #catchUp(id: string): Promise<void> {
    const before = this.run;
    const info = await api.runInfo(id).catch((error: Error) => error);
    if (this.run?.id !== id) return;
    if (info instanceof Error) {
      if (info instanceof RequestError && info.status === 404) this.#runLost();
      return;
    }
    const data = info as unknown as JsonObject;
    const arrived = this.run.messages.filter((line) => !before?.messages.includes(line));
    if (this.run === before) {
      for (const type of ["run", "nodes", "values"])
        this.run = applyEvent(this.run, type, type === "run" ? data : { ...data, prompt_id: id });
      if (isActive(this.run)) this.#showWanted();
    }
    if (isObject(data.error))
      this.run = applyEvent(this.run, "failed", { ...data.error, prompt_id: id });
    else if (typeof data.error === "string")
      this.run = applyEvent(this.run, "failed", { message: data.error, prompt_id: id });
    if (Array.isArray(data.said)) this.run = { ...this.run, messages: [] };
    for (const line of Array.isArray(data.said) ? data.said : [])
      if (isObject(line)) this.run = applyEvent(this.run, "said", { ...line, prompt_id: id });
    for (const text of arrived)
      if (!this.run.messages.includes(text))
        this.run = applyEvent(this.run, "said", { text, prompt_id: id });
    if (isObject(data.result))
      this.run = applyEvent(this.run, "result", { summary: data.result, prompt_id: id });
    const { workflow } = this.editor.document;
    if (isObject(data.workflow) && this.run.replayOf !== null)
      this.#recordedGraph = withoutReplacedNodes(data.workflow as unknown as Workflow);
    if (isObject(data.workflow) && isPlayed(data.workflow, workflow) && !this.#sent) {
      const { breakpoints } = data.workflow;
      // it plays what is on the page
      this.#sent = { workflow, breakpoints: isObject(breakpoints) ? breakpoints : {} };
      void this.#editLive();
    }
    this.#render();
  }

  /** Show no run any more. The run itself goes on. */
  clearRun(): void {
    this.play(false);
    this.#leaveRewound();
    this.#waiting = this.#wanted = null;
    this.run = null;
    this.#sent = null;
    this.#screens.clear();
    this.#render();
  }

  /** The server does not know the run: it was deleted, or lost from the queue. */
  #runLost(): void {
    this.editor.document.run = null;
    this.clearRun();
    showMessage("The run that was shown here is no longer there.");
  }

  /** Start a run that is recorded; of a run that goes on, begin or end a tape. */
  async toggleRecording(): Promise<void> {
    const { run } = this;
    if (!isUnfinished(run)) {
      await this.start(true);
      return;
    }
    try {
      await api.record(run.id, !run.recording);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showMessage(error.message, "error");
      return;
    }
    if (run.recording) showMessage("The tape is kept, and the game goes on. Rewind shows it.");
    this.#emit("lists");
  }

  /** A run that is filmed needs a console. */
  get canToggleRecording(): boolean {
    if (isUnfinished(this.run)) return isActive(this.run) && this.run.replayOf === null;
    return this.editor.hasConsole;
  }

  /** Keep what was just shown of the game as a clip. */
  async keepClip(): Promise<void> {
    const id = this.run?.id;
    if (!id) return;
    try {
      const { folder, file, seconds } = await api.keepClip(id);
      const save = () => download(api.fileOfRun(folder, file), file);
      showMessage(`The last ${seconds.toFixed(1)} seconds are kept as ${file}.`, "info", {
        name: "Download",
        run: save,
      });
      this.#emit("lists");
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showMessage(error.message, "error");
    }
  }

  /** A clip needs a run that ticks, and a console. */
  get canKeepClip(): boolean {
    return isActive(this.run) && this.run.replayOf === null && this.editor.hasConsole;
  }

  async control(what: Control, id = this.run?.id): Promise<void> {
    if (!id) return;
    if (what === "stop") {
      if (id === this.#stopped.id && performance.now() - this.#stopped.at < SECOND_STOP_MS) return; // a double click
      this.#stopped = { id, at: performance.now() };
      if (this.#waiting && id === this.run?.id) {
        // the run itself is meant, and not what shows its last ticks
        const waiting = this.#waiting.id;
        await this.#show(waiting, true);
        await this.control("stop", waiting);
        return;
      }
    }
    await api.control(id, what).catch((error: Error) => showMessage(error.message, "error"));
  }

  /** Slow motion needs a clock: that of a run in real time, or of one that is rewound. */
  get canSlowDown(): boolean {
    return isActive(this.run) && (this.run.replayOf !== null || this.run.clock === "realtime");
  }

  /** Play in slow motion, at a share of the console's frame rate. */
  async setSpeed(speed: number): Promise<void> {
    if (!this.run) return;
    await api
      .setSpeed(this.run.id, speed)
      .catch((error: Error) => showMessage(error.message, "error"));
  }

  /** Save the current state of a console's game. Episodes can start from it. */
  async saveState(node: string): Promise<void> {
    const { run } = this;
    const name =
      run && (await promptForText("Save the current game state", "Name", "", "Save state"));
    if (!run || !name) return;
    try {
      await api.saveState(run.id, node, name);
      showMessage(`Saved. Choose ${name} in states to start from it.`);
      this.#emit("games");
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showMessage(error.message, "error");
    }
  }

  /** Return what the screen of a node shows: a picture of the run, or the one that an episode begins with; null if nothing. */
  async shownOn(node: string): Promise<ImageBitmap | null> {
    const shown = this.#screens.canvasOf(node) ?? this.editor.board.startPicture(node);
    return shown === null ? null : await createImageBitmap(shown);
  }

  /** The nodes of the workflow that a person plays with. */
  get pads(): readonly string[] {
    const { catalog, document } = this.editor;
    return [...flatNodes(document.workflow)].flatMap(([id, entry]) =>
      catalog.find(entry.type)?.external && modeOf(entry) === "run" ? [id] : [],
    );
  }

  get isPlaying(): boolean {
    return this.#input.isEnabled;
  }

  /** Begin or end to send keys and gamepad buttons to the run. Only one page at a time does so. */
  play(isOn: boolean): void {
    const { run, pads } = this;
    const canPlay = isUnfinished(run) && run.replayOf === null && pads.length > 0;
    if (isOn && isUnfinished(run) && run.replayOf !== null) showMessage(this.#whyNotPlay);
    if (isOn === this.isPlaying || (isOn && !canPlay)) return;
    if (isOn) {
      this.#taken = { run: run!.id, nodes: pads };
      this.#sendToPads("take");
    }
    this.#input.setEnabled(isOn);
    if (!isOn) this.#sendToPads("release");
    document.body.toggleAttribute("data-playing", isOn);
    this.#emit("run");
  }

  get #whyNotPlay(): string {
    if (this.isInThePast) return "You are viewing the past. Go on live to play.";
    return "A recorded run can only be looked at. Run its workflow to play.";
  }

  #sendToPads(type: "take" | "input" | "release", more: object = {}): void {
    const { run, nodes } = this.#taken;
    for (const node of nodes) this.#connection.send(type, { prompt_id: run, node, ...more });
  }

  /** The times of a run that is rewound are not those of the recorded one, so they are not shown. */
  get showsBudgets(): boolean {
    return this.view.shows("budgets") && this.run?.replayOf === null;
  }

  /** Place the pictures, and tell the server which nodes are visible. */
  updateWatch(): void {
    const live = isUnfinished(this.run);
    const showsWires = this.view.shows("wires");
    const valued = this.updatePreviews(this.run);
    const previews = this.#screens.update(live, showsWires).filter((id) => !valued.includes(id));
    if (!this.run || !live) {
      this.#connection.watch(null);
      return;
    }
    const isHidden = document.visibilityState === "hidden";
    const prompt_id = this.run.id;
    if (isHidden) {
      this.#connection.watch({ prompt_id, previews: [], values: [], full: [], budgets: [] });
      return;
    }
    const selected = this.editor.selection.filter((id) => this.editor.entry(id));
    const shown = [...selected, ...(showsWires ? this.editor.board.wireSources : [])];
    const values = [...new Set(shown.flatMap((id) => this.#nodesBehind(id)))];
    const full = this.#full === null ? valued : [this.#full, ...valued];
    const pictures = [...previews];
    if (this.picture) pictures.push(this.picture.node);
    if (this.#game !== null) pictures.push(this.#game);
    const budgets = this.showsBudgets ? [WHOLE_TICK, ...this.editor.board.detailed] : [];
    this.#connection.watch({
      prompt_id,
      previews: [...new Set(pictures)],
      values,
      full: [...new Set(full)].slice(0, MAX_IN_FULL),
      budgets,
    });
  }

  /** Show or hide something of the run. */
  toggleView(what: "budgets" | "wires"): void {
    this.view.toggle(what);
    this.#render();
  }

  /** Ask for the inputs and outputs of a node in full, and show its pictures on a canvas. */
  watchInFull(node: string | null, canvas: HTMLCanvasElement | null): void {
    if (this.picture) this.#connection.dropScreen(FullPicture.KEY);
    this.#full = node;
    this.picture = null;
    if (node !== null && canvas) {
      this.picture = new FullPicture(node, canvas);
      this.#connection.addScreen(node, canvas, FullPicture.KEY);
    }
    this.updateWatch();
  }

  #connected(isOpen: boolean): void {
    const wasLost = !this.connected && isOpen;
    this.connected = isOpen;
    if (!isOpen) this.play(false);
    if (wasLost && this.run) void this.#catchUp(this.run.id);
    this.#render();
    if (isOpen)
      for (const what of ["lists", "workflows", "parts", "brains", "games"] as const)
        this.#emit(what);
  }

  #event(type: string, data: JsonObject): void {
    if (type === "status") {
      this.#emit("lists");
      return;
    }
    if (type === "files") {
      const { what } = data;
      this.#emit(what === "brains" || what === "data" || what === "parts" ? what : "workflows");
      return;
    }
    if (type === "asking") {
      this.asking = data as unknown as Asking;
      this.#emit("asking");
      return;
    }
    if (type === "sweep") {
      this.sweep = data as unknown as Sweep;
      this.#emit("sweep");
      return;
    }
    if (type === "run" && typeof data.prompt_id === "string" && typeof data.state === "string") {
      if (this.#otherStates.get(data.prompt_id) !== data.state) this.#emit("lists");
      this.#otherStates.set(data.prompt_id, data.state);
    }
    if (!this.run) return;
    if (type === "taken" && data.prompt_id === this.run.id && this.isPlaying) {
      this.play(false);
      showMessage("Another page plays this run now.");
    }
    const before = this.run;
    this.run = applyEvent(before, type, data);
    if (this.run === before) return;
    if (this.run.error !== null && this.run.error !== before.error)
      showMessage(this.run.error, "error");
    const { at } = this.run;
    if (at !== null && at !== before.at) this.editor.board.select([at.node]);
    if (before.state === "running" && this.run.replayOf !== null) this.#moveComparison();
    if (isActive(this.run) && !isActive(before)) {
      void this.#editLive(); // what was changed while it waited
      this.#showWanted();
    }
    this.#render();
  }

  /** Show the same tick of the run beside this one, which goes on alone where this one ends. */
  #moveComparison(): void {
    const { run, comparison } = this;
    if (!run || !comparison) return;
    if (run.state === "paused" && run.ticks === this.timeline?.last)
      void comparison.playFrom(run.ticks);
    else void comparison.seek(run.ticks);
  }

  #showWanted(): void {
    const tick = this.#wanted;
    if (tick === null || this.run?.replayOf === null) return;
    this.#wanted = null;
    void this.seek(tick);
  }

  #render(): void {
    if (!isUnfinished(this.run)) this.play(false);
    const onWires =
      isUnfinished(this.run) && this.view.shows("wires")
        ? wireValues(this.run, this.connected)
        : null;
    this.editor.board.annotate({
      run: this.#nodeStatuses(),
      values: isUnfinished(this.run) ? this.#withBoxes(this.run.values) : new Map(),
      wireValues: onWires && this.#withBoxes(onWires),
      budget: isUnfinished(this.run) && this.showsBudgets ? this.run.budget : null,
    });
    this.updateWatch();
    this.#emit("run");
  }

  /** The status of the nodes; of a run that is over, only times and errors. A box has the errors of its nodes. */
  #nodeStatuses(): Run["nodes"] {
    const { run } = this;
    if (run === null) return new Map();
    const statuses = new Map(run.nodes);
    for (const [id, status] of run.nodes) {
      if (!isUnfinished(run) && !status.error) statuses.set(id, { ...status, state: null });
      const shown = status.error ? this.editor.shownFor(id) : null;
      if (shown === null || shown === id) continue;
      const error = `${id.slice(shown.length + 1)}: ${status.error}`;
      statuses.set(shown, { ...status, state: "failed", ms: null, error });
    }
    return statuses;
  }

  /** The outputs behind those of boxes that are shown. */
  get #outputsBehind(): ReadonlyMap<string, string> {
    const { workflow } = this.editor;
    const whole = this.editor.document.workflow;
    if (this.#behind?.workflow !== workflow)
      this.#behind = { workflow, outputs: shownOutputs(whole, workflow) };
    return this.#behind.outputs;
  }

  /** Return the nodes whose values are shown at a node: those behind a box, or itself. */
  #nodesBehind(id: string): readonly string[] {
    const found = [...this.#outputsBehind].flatMap(([shown, output]) =>
      shown.startsWith(`${id}.`) ? [output.split(".")[0]!] : [],
    );
    return found.length ? found : [id];
  }

  /** Return values by output, with those of the boxes that are shown. */
  #withBoxes<T>(values: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
    const result = new Map(values);
    for (const [shown, output] of this.#outputsBehind) {
      const value = values.get(output);
      if (value !== undefined) result.set(shown, value);
    }
    return result;
  }

  /** Apply all changes of the workflow to the run that was started from it, as soon as that ticks. Changes that are
   * made while a request is on its way are sent when it returns, so that the last one wins. */
  async #editLive(): Promise<void> {
    if (this.#isEditing) return;
    this.#isEditing = true;
    try {
      while (this.#isChanged()) await this.#sendChange();
    } finally {
      this.#isEditing = false;
    }
  }

  /** Whether the workflow was checked and has no faults, and is not as it was sent to the run that was started from it.
   * A recorded run stays as it was, except for its breakpoints: a fork of it plays what was changed. */
  #isChanged(): boolean {
    const { faults, isChecked } = this.editor;
    const { workflow } = this.editor.document;
    if (!isActive(this.run) || !this.#sent || !isChecked || faults.length) return false;
    return !this.#isSame(workflow) || !same(workflow.breakpoints ?? {}, this.#sent.breakpoints);
  }

  #isSame(workflow: Workflow): boolean {
    if (this.run?.replayOf !== null || this.#sent === null) return true;
    return isSameGraph(workflow, this.#sent.workflow);
  }

  async #sendChange(): Promise<void> {
    const { workflow } = this.editor.document;
    const { id } = this.run as Run;
    const breakpoints = workflow.breakpoints ?? {};
    const isSame = this.#isSame(workflow);
    this.#sent = { workflow, breakpoints };
    try {
      await (isSame ? api.breakWhen(id, breakpoints) : api.edit(id, workflow));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showMessage(`The run continues unchanged: ${error.message}`, "error");
    }
  }
}
