/** The differences between two workflows, as shown when a save conflicts with a newer one. */

import { isObject, own, same } from "./json";
import type { Workflow } from "./workflow";

export interface Change {
  readonly what: "added" | "removed" | "changed";
  readonly name: string;
  readonly details: readonly string[];
}

/** Return the changes from `before` to `after`: nodes by id, then other keys. All positions are one change. */
export function diffWorkflows(before: Workflow, after: Workflow): readonly Change[] {
  const result: Change[] = [];
  for (const id of new Set([...Object.keys(before.nodes), ...Object.keys(after.nodes)])) {
    const old = own(before.nodes, id);
    const now = own(after.nodes, id);
    if (!old) result.push({ what: "added", name: id, details: [now!.type] });
    else if (!now) result.push({ what: "removed", name: id, details: [old.type] });
    else if (!same(old, now))
      result.push({ what: "changed", name: id, details: diffKeys(old, now) });
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [
      own(before as object as Record<string, unknown>, key),
      own(after as object as Record<string, unknown>, key),
    ];
    if (key !== "nodes" && !same(old, now))
      result.push({ what: "changed", name: key, details: [] });
  }
  return result;
}

function diffKeys(old: object, now: object): string[] {
  const [a, b] = [old as Record<string, unknown>, now as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => {
    const [before, after] = [own(a, key), own(b, key)];
    if (same(before, after)) return [];
    if (
      (key === "set" || key === "in") &&
      (isObject(before) || before === undefined) &&
      (isObject(after) || after === undefined)
    ) {
      return diffKeys(before ?? {}, after ?? {});
    }
    return [`${key}: ${short(before)} → ${short(after)}`];
  });
}

function short(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
