import { expect, test } from "vitest";

import type { Mark } from "../src/api";
import { courseAt, nearestMark, nextMark, ofKind, textAt } from "../src/model/timeline";

const MARKS: readonly Mark[] = [
  { tick: 5, kind: "decision", node: "strategist", text: "a result arrived" },
  { tick: 9, kind: "reward", node: "console", text: "+20" },
  { tick: 9, kind: "edit", node: "", text: "the graph was changed" },
  { tick: 30, kind: "episode", node: "", text: "game 1 ended: done, lost" },
];

test("from mark to mark, of one kind or of all, and not beyond the ends", () => {
  expect(nextMark(MARKS, 5, 1)).toBe(9);
  expect(nextMark(MARKS, 9, -1)).toBe(5);
  expect(nextMark(MARKS, 30, 1)).toBeNull();
  expect(nextMark(MARKS, 5, -1)).toBeNull();
  expect(nextMark(ofKind(MARKS, "episode"), 0, 1)).toBe(30);
  expect(ofKind(MARKS, "all")).toEqual(MARKS);
});

test("a click finds the nearest mark, or else the tick itself", () => {
  expect(nearestMark(MARKS, 7, 3)).toBe(9);
  expect(nearestMark(MARKS, 26, 3)).toBe(26);
});

test("what happened at a tick is said", () => {
  expect(textAt(MARKS, 9)).toBe("reward +20; the graph was changed");
  expect(textAt(MARKS, 5)).toBe("strategist a result arrived");
  expect(textAt(MARKS, 6)).toBe("");
});

test("a course is shown up to a tick", () => {
  const course = [
    [1, 0],
    [5, 2],
    [9, 1],
  ] as const;
  expect(courseAt(course, 0, 10)).toEqual([]);
  expect(courseAt(course, 5, 10)).toEqual([
    [1, 0],
    [5, 2],
  ]);
  expect(courseAt(course, 7, 1)).toEqual([
    [5, 2],
    [7, 2],
  ]);
});
