import { expect, test } from "vitest";
import { durationText, heldTicks, missedText } from "../src/live/budget";
import { applyEvent, newRun } from "../src/live/run";

test("a budget has the times of nodes, and of the whole tick", () => {
  const run = applyEvent(newRun("r"), "budget", {
    prompt_id: "r",
    nodes: {
      "": {
        us: [900, 1100],
        slowest: ["model", 600],
        frame_us: 16666.7,
        missed: { nodes: { model: 2 }, engine: 0, unscheduled: 1 },
      },
      model: { us: [500, 700], thought: [false, true] },
    },
  });
  expect(run.budget.slowest).toEqual({ node: "model", us: 600 });
  expect(run.budget.frameUs).toBe(16666.7);
  expect(missedText(run.budget.missed!)).toBe("3 deadlines missed: model 2, a busy machine 1");
  const later = applyEvent(run, "budget", { prompt_id: "r", nodes: { model: { us: [1] } } });
  expect(later.budget.nodes.get("model")).toEqual({ us: [1], thought: [] });
  expect(later.budget.slowest).toEqual({ node: "model", us: 600 });
});

test("a value is held for the ticks since its node began to think", () => {
  const us = [1, 1, 1];
  expect(heldTicks({ us, thought: [true, false, true] })).toBe(1);
  expect(heldTicks({ us, thought: [true, true, true] })).toBe(3);
  expect(heldTicks({ us, thought: [true, true, false] })).toBe(0);
  expect(heldTicks({ us, thought: [] })).toBe(0);
});

test("durations below 0.1 ms are in microseconds", () => {
  expect(durationText(12.4)).toBe("12 µs");
  expect(durationText(16666.7)).toBe("16.7 ms");
  expect(durationText(940)).toBe("0.94 ms");
});
