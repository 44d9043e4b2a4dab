/** What is known about a run that waits, runs or is over, for lists of runs. */

import { api } from "../api";
import { isObject, type Json, type JsonObject } from "../model/json";
import { stem } from "../model/workflow";

/** A run, as the panel shows it. */
export interface RunFacts {
  readonly id: string;
  readonly state: string;
  readonly title: string;
  readonly workflow: JsonObject | null;
  /** When it began, in ms. */
  readonly started: number | null;
  /** How long it was played. */
  readonly seconds: number | null;
  /** The seed of its first episode. */
  readonly seed: number | null;
  /** The tick of another run from which it played on; null: it is not a fork. */
  readonly forkedAt: number | null;
  /** It shows the ticks of another run, which was recorded. */
  readonly isRewound: boolean;
  /** The score of the last episode. */
  readonly score: number | null;
  /** Why it failed. */
  readonly reason: string | null;
  /** The address of a picture of its last start state, or else of one that it left: that may be what a model was shown. */
  readonly picture: string | null;
  readonly result: JsonObject;
  /** It wrote a tape. */
  readonly isRecorded: boolean;
}

/** Return a run in the queue; `item` is as in ComfyUI's answer. */
export function queuedRun(item: readonly Json[], state: string): RunFacts {
  const workflow = isObject(item[2]) ? item[2] : null;
  const extra = isObject(item[3]) ? item[3] : {};
  return {
    id: String(item[1]),
    state,
    title: titleOf(workflow, extra.name),
    workflow,
    started: null,
    seconds: null,
    seed: null,
    forkedAt: forkedAt(extra),
    isRewound: typeof extra.replay_of === "string",
    score: null,
    reason: null,
    picture: null,
    result: {},
    isRecorded: false,
  };
}

/** Return a run of the history. */
export function earlierRun(id: string, entry: Readonly<Record<string, Json>>): RunFacts {
  const prompt = Array.isArray(entry.prompt) ? entry.prompt : [];
  const result = isObject(entry.result) ? entry.result : {};
  const episodes = Array.isArray(result.episodes) ? result.episodes.filter(isObject) : [];
  const last = episodes.at(-1) ?? {};
  const { ticks, ticks_per_s: rate } = result;
  const hasSpeed = typeof ticks === "number" && typeof rate === "number" && rate > 0;
  return {
    ...queuedRun(prompt, typeof entry.state === "string" ? entry.state : "done"),
    id,
    isRecorded: entry.recorded === true,
    started: typeof entry.started === "number" ? entry.started : null,
    seconds: hasSpeed ? ticks / rate : null,
    seed: typeof result.seed === "number" ? result.seed : null,
    score: typeof last.score === "number" ? last.score : null,
    reason: reasonOf(entry),
    picture: startPicture(result, last) ?? leftPicture(entry.outputs),
    result,
  };
}

function forkedAt(extra: JsonObject): number | null {
  const fork = isObject(extra.fork) ? extra.fork : {};
  return typeof fork.tick === "number" ? fork.tick : null;
}

/** Return the title of a workflow, or else the name of its file. */
function titleOf(workflow: JsonObject | null, file: Json | undefined): string {
  const title = workflow?.title;
  if (typeof title === "string" && title) return title;
  return typeof file === "string" && file ? stem(file) : "Untitled";
}

function reasonOf(entry: Readonly<Record<string, Json>>): string | null {
  if (entry.state !== "failed") return null;
  const result = isObject(entry.result) ? entry.result : {};
  const message = isObject(result.error) ? result.error.message : null;
  return typeof message === "string" ? message : "The server ended while it was running.";
}

function leftPicture(outputs: Json | undefined): string | null {
  for (const output of Object.values(isObject(outputs) ? outputs : {})) {
    const images = isObject(output) && Array.isArray(output.images) ? output.images : [];
    const image = images.find(isObject);
    if (image) return api.fileOfRun(String(image.subfolder), String(image.filename));
  }
  return null;
}

function startPicture(result: JsonObject, episode: JsonObject): string | null {
  const state = isObject(episode.start) ? episode.start.state : null;
  if (typeof result.game !== "string" || typeof state !== "string") return null;
  return api.picture(result.game, state);
}

export function timeText(ms: number): string {
  return new Date(ms).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
}

export function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds.toPrecision(2)} s`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes} min ${Math.floor(seconds % 60)} s`;
}
