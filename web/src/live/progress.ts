/** The progress of a node with work that takes long. */

import { isObject, type Json } from "../model/json";

export interface NodeProgress {
  readonly done: number;
  /** Null: it is not known how much there is to do. */
  readonly total: number | null;
  readonly text: string;
}

export function readProgress(value: Json | undefined): NodeProgress | null {
  if (!isObject(value) || typeof value.done !== "number") return null;
  return {
    done: value.done,
    total: typeof value.total === "number" ? value.total : null,
    text: typeof value.text === "string" ? value.text : "",
  };
}

/** Return the part that is done, 0 to 1; null if it is not known. */
export function shareDone(progress: NodeProgress | null): number | null {
  if (!progress?.total) return null;
  return Math.min(1, Math.max(0, progress.done / progress.total));
}

/** Describe the progress for users; "" if there is none. */
export function progressText(progress: NodeProgress | null): string {
  if (!progress) return "";
  const amount =
    progress.total === null ? `${progress.done}` : `${progress.done} of ${progress.total}`;
  return progress.text ? `${amount}: ${progress.text}` : amount;
}
