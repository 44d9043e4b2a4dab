import { expect, test } from "vitest";

import { isCompatible, type Linking, linkError, UNKNOWN_LINKING } from "../src/model/compatibility";
import { suggest } from "../src/model/suggest";
import { workflowFromJson } from "../src/model/workflow";
import { catalog } from "./catalog";

const workflow = workflowFromJson({
  minibrains: 1,
  nodes: {
    console: { type: "RetroEmulator@1" },
    fighter: { type: "ScriptedFighter@1" },
    grey: { type: "Grayscale@1", in: { frame: "console.frame" } },
    small: { type: "Resize@1", set: { width: 84, height: 64 }, in: { frame: "grey.frame" } },
    head: { type: "FixedHead@1" },
    knee: { type: "Reroute@1", in: { value: "console.reward" } },
    loose: { type: "Reroute@1" },
    score: { type: "Score@1" },
    log: { type: "Log@1" },
    gone: { type: "pack.Gone@3" },
    first: { type: "Flagged@1" },
    second: { type: "Flagged@1", in: { value: "first.value" } },
    previous: { type: "Previous@1", in: { value: "second.value" } },
  },
});

/** As the server would say it. */
const LINKING: Linking = {
  outputs: { "small.frame": "frame u8[64 84 1]", "knee.value": "number", "second.value": "flag" },
  inputs: { "head.frame": "frame u8[84 84 1]", "grey.frame": "frame u8[h w 3]" },
  fits: {
    "frame u8[h w 3]": ["frame u8[h w c]", "frame u8[h w 3]", "T", "anything"],
    "frame u8[h w 1]": ["frame u8[h w c]", "frame u8[84 84 1]", "T", "anything"],
    "frame u8[64 84 1]": ["frame u8[h w c]", "T", "anything"],
    "frame u8[{height} {width} c]": ["frame u8[h w c]", "T", "anything"],
    variables: ["variables", "T", "anything"],
    number: ["number", "flag or number", "T", "anything"],
    flag: ["flag", "flag or number", "T", "anything"],
    "flag or number": ["flag or number", "T", "anything"],
    pad: ["pad", "T", "anything"],
    "logits f32[8]": ["T", "anything"],
  },
  before: {
    fighter: [],
    grey: [],
    small: ["grey"],
    head: [],
    knee: [],
    loose: [],
    score: [],
    log: [],
    first: [],
    second: ["first"],
  },
};

const ask = (from: string, to: string) => {
  const [a, b] = [from.split("."), to.split(".")] as [[string, string], [string, string]];
  return linkError(workflow, catalog, LINKING, {
    from: { node: a[0], socket: a[1] },
    to: { node: b[0], socket: b[1] },
  });
};

test.each([
  ["console.variables", "fighter.variables"],
  ["fighter.pad", "console.pad1"],
  ["console.frame", "log.value"],
  ["console.terminated", "fighter.when"],
  ["knee.value", "score.rewards"],
  ["loose.value", "console.pad1"],
  ["console.frame", "loose.value"],
  ["gone.thing", "console.pad1"],
  ["console.frame", "gone.anything"],
  ["previous.value", "first.value"],
])("%s may go into %s", (from, to) => {
  expect(ask(from, to)).toBeNull();
});

test.each([
  [
    "console.frame",
    "fighter.variables",
    "console.frame gives frame u8[h w 3], but fighter.variables takes variables.",
  ],
  [
    "grey.frame",
    "grey.frame",
    "grey.frame gives frame u8[h w 1], but grey.frame takes frame u8[h w 3].",
  ],
  [
    "small.frame",
    "head.frame",
    "small.frame gives frame u8[64 84 1], but head.frame takes frame u8[84 84 1].",
  ],
  ["knee.value", "console.pad1", "knee.value gives number, but console.pad1 takes pad."],
  ["fighter.pad", "fighter.when", "fighter.pad gives pad, but fighter.when takes flag."],
])("%s may not go into %s, and the sentence says why", (from, to, sentence) => {
  expect(ask(from, to)).toBe(sentence);
});

test("a loop within a tick is refused, one across a register is what games are", () => {
  expect(ask("second.value", "first.value")).toMatch(
    /closes a loop .* Put a Previous node into it/,
  );
  expect(ask("fighter.pad", "console.pad2")).toBeNull();
});

test("what the server was not asked about yet may be", () => {
  expect(isCompatible(UNKNOWN_LINKING, "flag", "number")).toBe(true);
  expect(isCompatible(LINKING, "something new", "number")).toBe(true);
  expect(isCompatible(LINKING, "flag", "number")).toBe(false);
  expect(
    linkError(workflow, catalog, UNKNOWN_LINKING, {
      from: { node: "console", socket: "frame" },
      to: { node: "fighter", socket: "variables" },
    }),
  ).toBeNull();
});

const names = (query: string, dragged: Parameters<typeof suggest>[3] = null) =>
  suggest(catalog, LINKING, query, dragged).map(({ type }) => type.type);

test("search: name first, then initials, then the words about it", () => {
  expect(names("previo")[0]).toBe("Previous@1");
  expect(names("preview")[0]).toBe("Preview@1");
  expect(names("re")[0]).toMatch(/^Re/);
  expect(names("sf")).toContain("ScriptedFighter@1");
  expect(names("nothing like it")).toEqual([]);
});

test("a loose wire is offered what fits, the exact type first, with the socket to use", () => {
  const found = suggest(catalog, LINKING, "", { side: "output", kind: "frame u8[h w 3]" });
  expect(found.slice(0, 3).map(({ type, socket }) => [type.type, socket])).toEqual([
    ["Grayscale@1", "frame"],
    ["Preview@1", "frame"],
    ["Resize@1", "frame"],
  ]);
  expect(found.map(({ type }) => type.type)).toContain("Log@1");
  expect(found.map(({ type }) => type.type)).not.toContain("Score@1");
  expect(names("", { side: "input", kind: "pad" })[0]).toBe("ScriptedFighter@1");
});

test("an older version of a type is still that type; an unknown one is not", () => {
  expect(catalog.find("Score@1")?.type).toBe("Score@1");
  expect(catalog.find("Score@2")).toBeUndefined();
  expect(catalog.find("Nothing@1")).toBeUndefined();
});
