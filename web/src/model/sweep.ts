/** A sweep: variants of a workflow, which play the same episodes. */

import type { Json } from "./json";

export interface Axis {
  /** `node.widget`, or a node whose brain is varied. */
  readonly target: string;
  readonly values: readonly Json[];
}

/** A point of the grid; it has figures once it has played an episode. */
export interface Variant {
  readonly values: Readonly<Record<string, Json>>;
  readonly n?: number;
  readonly distinct?: number;
  readonly won?: number;
  readonly share?: number;
  readonly low?: number;
  readonly high?: number;
  readonly reward?: number | null;
}

export interface Sweep {
  /** That of the workflow. */
  readonly title: string;
  readonly state: "running" | "done" | "failed" | "stopped";
  readonly error: string | null;
  readonly done: number;
  readonly total: number;
  /** Its files in the folder of evaluations, once it is done. */
  readonly files: { readonly json: string; readonly png: string } | null;
  readonly axes: readonly Axis[];
  readonly variants: readonly Variant[];
}

/** Read values as they are typed: separated by commas, or, with commas in them, as a JSON array. Each is JSON or a text. */
export function readValues(text: string): readonly Json[] {
  const whole = text.trim().startsWith("[") ? read(text) : null;
  if (Array.isArray(whole)) return whole;
  const parts = text.split(",").map((part) => part.trim());
  return parts.filter(Boolean).map(read);
}

function read(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** Return what a variant has reached, in words: episodes, wins, their share with its interval, the mean reward. */
export function columnsOf(variant: Variant): readonly string[] {
  const { n, won, share, low, high, reward } = variant;
  if (n === undefined || share === undefined) return ["0", "", "", "", ""];
  return [
    String(n),
    String(won),
    percent(share),
    `${(100 * low!).toFixed(1)} to ${percent(high!)}`,
    typeof reward === "number" ? reward.toFixed(2) : "",
  ];
}

/** Return how far a sweep is, in words. */
export function progressText({ title, state, error, done, total }: Sweep): string {
  if (error !== null) return `${title}: ${error}`;
  const words = { running: "", done: ", done", failed: ", failed", stopped: ", stopped" };
  const number = (count: number) => count.toLocaleString("en");
  return `${title}: ${number(done)} of ${number(total)} episodes${words[state]}`;
}
