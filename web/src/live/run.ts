/** The state of the run that the page shows, computed from the events of the server. */

import type { NodeStatus } from "../board/events";
import type { NodeState } from "../canvas/paint";
import { isObject, type Json, type JsonObject } from "../model/json";
import type { Clock } from "../model/workflow";
import { applyBudget, type Budget, NO_BUDGET } from "./budget";
import { readProgress } from "./progress";
import { readSavings } from "./savings";

export type RunState =
  | "queued"
  | "starting"
  | "running"
  | "paused"
  | "stopping"
  | "done"
  | "failed"
  | "stopped";

/** A step of a tick: what a node was given, and what it has delivered. */
export interface StepDone {
  readonly node: string;
  readonly role: string;
  readonly inputs: JsonObject;
  readonly outputs: JsonObject;
}

export interface Run {
  readonly id: string;
  readonly state: RunState;
  /** It has a tape, or is to have one. */
  readonly recorded: boolean;
  /** A tape of it is being written. */
  readonly recording: boolean;
  /** The finished run whose tape it plays; null: it is played for the first time. */
  readonly replayOf: string | null;
  readonly episode: number | null;
  readonly episodes: number | null;
  readonly tick: number | null;
  /** Ticks of all episodes. */
  readonly ticks: number;
  readonly rate: number | null;
  readonly score: number | null;
  readonly misses: number | null;
  readonly clock: Clock;
  /** The speed of a run in real time, or that is rewound, as a share of the console's frame rate. */
  readonly speed: number;
  /** The step after which it stands within a tick; null: it is between two ticks. */
  readonly at: StepDone | null;
  /** The breakpoints that paused it. */
  readonly breakpoints: readonly string[];
  readonly nodes: ReadonlyMap<string, NodeStatus>;
  readonly values: ReadonlyMap<string, string>;
  /** Inputs and outputs in full, of the nodes that are watched so, by "node.socket". */
  readonly inputs: ReadonlyMap<string, Json>;
  readonly outputs: ReadonlyMap<string, Json>;
  readonly budget: Budget;
  /** The error that ended it. */
  readonly error: string | null;
  readonly result: JsonObject | null;
  readonly messages: readonly string[];
}

export const UNFINISHED: ReadonlySet<RunState> = new Set([
  "queued",
  "starting",
  "running",
  "paused",
  "stopping",
]);
export const isUnfinished = (run: Run | null): run is Run =>
  run !== null && UNFINISHED.has(run.state);

/** Return true if the run ticks, or is paused between two ticks or within one. */
export const isActive = (run: Run | null): run is Run =>
  run !== null && (run.state === "running" || run.state === "paused");

const STATES: ReadonlySet<string> = new Set<NodeState>([
  "idle",
  "running",
  "skipped",
  "thinking",
  "restarting",
  "lost",
  "cached",
  "failed",
]);
const MAX_MESSAGES = 50;

export function newRun(id: string): Run {
  return {
    id,
    state: "queued",
    recorded: false,
    recording: false,
    replayOf: null,
    episode: null,
    episodes: null,
    tick: null,
    ticks: 0,
    rate: null,
    score: null,
    misses: null,
    clock: "fast",
    speed: 1,
    at: null,
    breakpoints: [],
    nodes: new Map(),
    values: new Map(),
    inputs: new Map(),
    outputs: new Map(),
    budget: NO_BUDGET,
    error: null,
    result: null,
    messages: [],
  };
}

/** Return the number, or null, in an event; if it has neither, the value from before. */
function numberOr(value: Json | undefined, before: number | null): number | null {
  return typeof value === "number" || value === null ? value : before;
}

/** Return the text, or null, in an event; if it has neither, the value from before. */
function textOr(value: Json | undefined, before: string | null): string | null {
  return typeof value === "string" || value === null ? value : before;
}

/** Return the run after an event of the websocket; the same object if the event does not concern it. */
export function applyEvent(run: Run, type: string, data: JsonObject): Run {
  if (data.prompt_id !== run.id) return run;
  if (type === "run") {
    return {
      ...run,
      state: typeof data.state === "string" && isRunState(data.state) ? data.state : run.state,
      recorded: typeof data.recorded === "boolean" ? data.recorded : run.recorded,
      recording: typeof data.recording === "boolean" ? data.recording : run.recording,
      replayOf: textOr(data.replay_of, run.replayOf),
      episode: numberOr(data.episode, run.episode),
      episodes: numberOr(data.episodes, run.episodes),
      tick: numberOr(data.tick, run.tick),
      ticks: typeof data.ticks === "number" ? data.ticks : run.ticks,
      rate: numberOr(data.ticks_per_s, run.rate),
      score: numberOr(data.score, run.score),
      misses: numberOr(data.misses, run.misses),
      clock: data.clock === "fast" || data.clock === "realtime" ? data.clock : run.clock,
      speed: typeof data.speed === "number" ? data.speed : run.speed,
      at: data.at === undefined ? run.at : readStep(data.at),
      breakpoints: Array.isArray(data.breakpoints)
        ? data.breakpoints.filter(isText)
        : run.breakpoints,
    };
  }
  if (type === "nodes" && isObject(data.nodes))
    return { ...run, nodes: applyNodeUpdates(run.nodes, data.nodes, run.ticks) };
  if (type === "values" && isObject(data.values)) {
    const values = new Map(run.values);
    for (const [socket, value] of Object.entries(data.values))
      values.set(socket, formatValue(value));
    return { ...run, values };
  }
  if (type === "inputs" && isObject(data.inputs))
    return { ...run, inputs: new Map([...run.inputs, ...Object.entries(data.inputs)]) };
  if (type === "outputs" && isObject(data.outputs))
    return { ...run, outputs: new Map([...run.outputs, ...Object.entries(data.outputs)]) };
  if (type === "budget" && isObject(data.nodes))
    return { ...run, budget: applyBudget(run.budget, data.nodes) };
  if (type === "failed") return applyFailure(run, data);
  if (type === "result" && isObject(data.summary))
    return { ...run, result: data.summary, tick: numberOr(data.summary.ticks, run.tick) };
  if (type === "said" && typeof data.text === "string")
    return { ...run, messages: [...run.messages, data.text].slice(-MAX_MESSAGES) };
  return run;
}

const ROLES: Readonly<Record<string, string>> = {
  emit: "has emitted",
  read: "was read",
  tick: "has run",
  submit: "was asked",
  poll: "has answered",
  latch: "has latched",
};

/** Return what a step has done, in words. */
export const stepText = ({ node, role }: StepDone): string => `${node} ${ROLES[role] ?? role}`;

/** Return the step of an event, or null. */
function readStep(data: Json): StepDone | null {
  if (!isObject(data) || typeof data.node !== "string" || typeof data.role !== "string")
    return null;
  const { node, role, inputs, outputs } = data;
  return {
    node,
    role,
    inputs: isObject(inputs) ? inputs : {},
    outputs: isObject(outputs) ? outputs : {},
  };
}

const isText = (value: Json): value is string => typeof value === "string";

const isRunState = (text: string): text is RunState =>
  UNFINISHED.has(text as RunState) || ["done", "failed", "stopped"].includes(text);

function applyNodeUpdates(
  before: ReadonlyMap<string, NodeStatus>,
  delta: JsonObject,
  ticks: number,
): Map<string, NodeStatus> {
  const nodes = new Map(before);
  for (const [id, data] of Object.entries(delta)) {
    if (!isObject(data)) continue;
    const old = nodes.get(id);
    const runs = typeof data.runs === "number" ? data.runs : (old?.runs ?? 0);
    nodes.set(id, {
      runs,
      ranAt: runs === old?.runs ? old.ranAt : ticks,
      state:
        typeof data.state === "string" && STATES.has(data.state)
          ? (data.state as NodeState)
          : (old?.state ?? null),
      ms: typeof data.us === "number" ? data.us / 1000 : (old?.ms ?? null),
      error: textOr(data.error, old?.error ?? null),
      thinkTimes: Array.isArray(data.think_times)
        ? data.think_times.filter(isPair)
        : (old?.thinkTimes ?? []),
      savings: data.savings === undefined ? (old?.savings ?? []) : readSavings(data.savings),
      restarts: typeof data.restarts === "number" ? data.restarts : (old?.restarts ?? 0),
      progress: readProgress(data.progress) ?? old?.progress ?? null,
    });
  }
  return nodes;
}

const isPair = (value: Json): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "number");

function applyFailure(run: Run, data: JsonObject): Run {
  const message =
    typeof data.message === "string" ? data.message : "The run failed without an error message.";
  if (typeof data.node !== "string" || !data.node)
    return { ...run, state: "failed", error: message };
  const old = run.nodes.get(data.node);
  const nodes = new Map(run.nodes).set(data.node, {
    state: "failed",
    ms: old?.ms ?? null,
    error: message,
    runs: old?.runs ?? 0,
    ranAt: old?.ranAt ?? run.ticks,
    thinkTimes: old?.thinkTimes ?? [],
    savings: old?.savings ?? [],
    restarts: old?.restarts ?? 0,
    progress: old?.progress ?? null,
  });
  return { ...run, state: "failed", error: message, nodes };
}

/** Format the value of an output: integers in full, other numbers with three significant digits. */
function formatValue(value: Json): string {
  if (typeof value === "number")
    return Number.isInteger(value) ? String(value) : value.toPrecision(3);
  return typeof value === "string" ? value : JSON.stringify(value);
}
