import { expect, test } from "vitest";

import { columnsOf, progressText, readValues, type Sweep } from "../src/model/sweep";

test("values are read as they are typed", () => {
  expect(readValues("1, 2.5,true")).toEqual([1, 2.5, true]);
  expect(readValues("greedy, sample,")).toEqual(["greedy", "sample"]);
  expect(readValues('[[1, 2], "a,b"]')).toEqual([[1, 2], "a,b"]);
  expect(readValues(" ")).toEqual([]);
});

test("a variant has figures once it has played", () => {
  expect(columnsOf({ values: {} })).toEqual(["0", "", "", "", ""]);
  const figures = { n: 4, distinct: 4, won: 3, share: 0.75, low: 0.3, high: 0.954, reward: 1 };
  expect(columnsOf({ values: {}, ...figures })).toEqual([
    "4",
    "3",
    "75.0 %",
    "30.0 to 95.4 %",
    "1.00",
  ]);
});

test("how far a sweep is", () => {
  const sweep = { title: "duel", state: "running", error: null, done: 1200, total: 2400 };
  expect(progressText(sweep as Sweep)).toBe("duel: 1,200 of 2,400 episodes");
  expect(progressText({ ...sweep, state: "stopped" } as Sweep)).toContain(", stopped");
  expect(progressText({ ...sweep, error: "no worker" } as Sweep)).toBe("duel: no worker");
});
