import { expect, test } from "vitest";
import { freeWidth } from "../src/canvas/wire_value";
import { applyEvent, newRun, type Run } from "../src/live/run";
import { freshnessOf, wireValues } from "../src/live/wire_values";

const at = (run: Run, ticks: number, nodes: Record<string, object> = {}) =>
  applyEvent(applyEvent(run, "run", { prompt_id: "r", ticks }), "nodes", {
    prompt_id: "r",
    nodes: nodes as never,
  });
const freshness = (run: Run, node: string) => freshnessOf(run.nodes.get(node), run.ticks);

test("a value is stale once its node runs less often than it usually does, or fails", () => {
  let run = at(newRun("r"), 600, {
    often: { state: "running", runs: 600 },
    seldom: { state: "running", runs: 2 },
    fixed: { state: "cached", runs: 1 },
    once: { state: "running", runs: 1 },
  });
  expect(["often", "seldom", "fixed"].map((node) => freshness(run, node))).toEqual([
    "live",
    "live",
    "live",
  ]);
  run = at(run, 661, { often: { state: "skipped", runs: 600 } });
  expect(freshness(run, "often")).toBe("stale");
  expect(freshness(run, "seldom")).toBe("live");
  expect(freshness(run, "once")).toBe("stale");
  run = at(run, 662, { often: { state: "running", runs: 601 } });
  expect(freshness(run, "often")).toBe("live");
  run = at(run, 663, { often: { state: "failed", runs: 601 } });
  expect(freshness(run, "often")).toBe("stale");
  run = at(run, 664, { often: { state: "thinking", runs: 602 } });
  expect(freshness(run, "often")).toBe("held");
});

test("without a connection every value is stale", () => {
  const run = applyEvent(at(newRun("r"), 1), "values", { prompt_id: "r", values: { "a.x": 0.5 } });
  expect(wireValues(run, true).get("a.x")).toEqual({ text: "0.500", freshness: "live" });
  expect(wireValues(run, false).get("a.x")).toEqual({ text: "0.500", freshness: "stale" });
});

test("a value has the room between its output and the next node", () => {
  const free = freeWidth([100, 50], []);
  expect(freeWidth([100, 50], [[160, 0, 200, 100]])).toBe(40);
  expect(freeWidth([100, 50], [[160, 80, 200, 100]])).toBe(free);
  expect(freeWidth([100, 50], [[0, 0, 100, 100]])).toBe(free);
});
