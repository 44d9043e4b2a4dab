/** What caches answered for a node in the place of work, and the seconds that it once took to make. */

import type { Json } from "../model/json";

export type Savings = readonly (readonly [what: string, seconds: number])[];

/** Seconds that are worth a sign. */
const NOTABLE = 0.001;

export function readSavings(value: Json | undefined): Savings {
  return Array.isArray(value) ? value.filter(isSaving) : [];
}

export const areNotable = (savings: Savings): boolean => total(savings) >= NOTABLE;

/** For people; empty if nothing was found. */
export function savingsText(savings: Savings): string {
  if (savings.length === 0) return "";
  const lines = savings.map(([what, seconds]) => `${what}: ${duration(seconds)}`);
  return [`Found in a cache, which saved ${duration(total(savings))}`, ...lines].join("\n");
}

const total = (savings: Savings) => savings.reduce((sum, [, seconds]) => sum + seconds, 0);

function duration(seconds: number): string {
  if (seconds < NOTABLE) return "less than 1 ms";
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toPrecision(2)} s`;
}

function isSaving(value: Json): value is [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === "string" && typeof value[1] === "number";
}
