/** The results that a node took from caches, and the seconds that each once took to compute. */

import type { Json } from "../model/json";

export type Savings = readonly (readonly [what: string, seconds: number])[];

/** Savings of at least this many seconds are marked at the node. */
const NOTABLE = 0.001;

export function readSavings(value: Json | undefined): Savings {
  return Array.isArray(value) ? value.filter(isSaving) : [];
}

export const areNotable = (savings: Savings): boolean => total(savings) >= NOTABLE;

/** Describe savings for users; "" if there are none. */
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
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    typeof value[0] === "string" &&
    typeof value[1] === "number"
  );
}
