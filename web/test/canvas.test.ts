import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isBackward, laneFor } from "../src/canvas/link_path";
import { type NodeShape, partAt, shapeOf, valueText } from "../src/canvas/shape";
import { keyCombination } from "../src/editor/commands";
import { readFrame, unpackPalette } from "../src/live/frames";
import { progressText, shareDone } from "../src/live/progress";
import { applyEvent, newRun } from "../src/live/run";
import { areNotable, savingsText } from "../src/live/savings";
import { catalog } from "./catalog";

test("only the board knows litegraph", () => {
  const src = new URL("../src/", import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const importing = files.filter((name) =>
    readFileSync(new URL(name, src), "utf8").includes("@comfyorg/litegraph"),
  );
  expect(importing.every((name) => name.startsWith("board"))).toBe(true);
  expect(importing.length).toBeGreaterThan(0);
});

test("data never becomes markup", () => {
  const src = new URL("../src/", import.meta.url);
  for (const name of readdirSync(src, { recursive: true, encoding: "utf8" }).filter((each) =>
    each.endsWith(".ts"),
  )) {
    expect(readFileSync(new URL(name, src), "utf8"), name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|new Function|\beval\(/,
    );
  }
});

test("hit tests: rows and brains are where they are painted", () => {
  const entry = { type: "RetroEmulator@1", set: { game: "x" }, brain: "a/b.safetensors" };
  const shape = shapeOf(entry, catalog.find(entry.type), undefined, [], false);
  expect(partAt(shape, 50, shape.rows[0]!.y)).toEqual({ part: "widget", name: "game" });
  expect(partAt(shape, 50, shape.brain!.y + 10)).toEqual({ part: "brain" });
  expect(partAt(shape, 50, 10)).toBeNull();
  expect(partAt(shape, -5, shape.rows[0]!.y)).toBeNull();
  expect(shape.registerArea).not.toBeNull();
  expect(shape.height).toBeGreaterThan(shape.brain!.y + 24);
});

test("an input for many has a free socket after the last link; a placeholder shows what the file has", () => {
  const score = shapeOf(
    { type: "Score@1", in: { rewards: ["a.x", "b.x"] } },
    catalog.find("Score@1"),
    undefined,
    [],
    false,
  );
  expect(score.inputs.map(({ name, index }) => [name, index])).toEqual([
    ["rewards", 0],
    ["rewards", 1],
    ["rewards", 2],
  ]);
  const gone = shapeOf(
    { type: "Gone@1", set: { depth: 3 }, in: { y: "a.x" }, when: "a.now" },
    undefined,
    undefined,
    ["out"],
    false,
  );
  expect([
    gone.inputs.map((port) => port.name),
    gone.outputs.map((port) => port.name),
    gone.rows.map((row) => row.name),
  ]).toEqual([["y", "when"], ["out"], ["depth"]]);
});

test("a collapsed node has all of its wires at its header, and nothing to click", () => {
  const entry = { type: "RetroEmulator@1", set: { game: "x" }, brain: "a/b.safetensors" };
  const [open, collapsed] = [false, true].map((isCollapsed) =>
    shapeOf(entry, catalog.find(entry.type), 320, [], isCollapsed),
  ) as [NodeShape, NodeShape];
  expect(collapsed.width).toBe(320);
  expect(collapsed.inputs.map(({ name }) => name)).toEqual(open.inputs.map(({ name }) => name));
  expect(collapsed.outputs.map(({ name }) => name)).toEqual(open.outputs.map(({ name }) => name));
  const heights = [...collapsed.inputs, ...collapsed.outputs].map(({ y }) => y);
  expect(new Set(heights)).toEqual(new Set([collapsed.height / 2]));
  expect(partAt(collapsed, 50, 20)).toBeNull();
  expect(collapsed.screen).toBeNull();
});

test("values in one line", () => {
  expect([
    valueText(["a", 2]),
    valueText({ seed: "$seed" }),
    valueText([]),
    valueText(null),
    valueText(""),
  ]).toEqual(["a, 2", "seed $seed", "none", "–", "“”"]);
});

test("a wire that goes back runs beneath what stands between its ends", () => {
  expect([isBackward([300, 0], [0, 0]), isBackward([0, 0], [300, 0])]).toEqual([true, false]);
  const lane = laneFor(
    [400, 0, 200, 100],
    [0, 0, 200, 80],
    [
      [250, 60, 100, 200],
      [900, 0, 100, 900],
    ],
  );
  expect(lane).toBe(278);
  expect(laneFor([400, 0, 200, 100], [0, 0, 200, 80], [])).toBe(126);
});

test("between two rows there is a shorter way, and no two wires lie on each other", () => {
  expect(laneFor([400, 0, 200, 100], [0, 200, 200, 80], [])).toBe(150);
  expect(laneFor([400, 0, 200, 100], [0, 200, 200, 80], [[100, 90, 400, 60]])).toBe(306);
  const taken = [{ y: 126, left: 0, right: 300 }];
  expect(laneFor([400, 0, 200, 100], [0, 0, 200, 80], [], taken)).toBe(136);
  expect(taken.length).toBe(2);
});

function message(event: number, head: object, body: number[]): ArrayBuffer {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const bytes = new Uint8Array(8 + json.length + body.length);
  new DataView(bytes.buffer).setUint32(0, event);
  new DataView(bytes.buffer).setUint32(4, json.length);
  bytes.set(json, 8);
  bytes.set(body, 8 + json.length);
  return bytes.buffer;
}

test("palette pictures become RGBA; what does not add up is not a picture", () => {
  const head = { node: "a", prompt_id: "1", seq: 1, width: 2, height: 1, tick: 3, colours: 2 };
  const frame = readFrame(message(100, head, [255, 0, 0, 0, 0, 255, 1, 0]))!;
  expect([...unpackPalette(frame)!]).toEqual([0, 0, 255, 255, 255, 0, 0, 255]);
  expect(unpackPalette(readFrame(message(100, head, [1, 2, 3]))!)).toBeNull();
  expect(readFrame(new ArrayBuffer(3))).toBeNull();
  expect(readFrame(message(100, head, []).slice(0, 20))).toBeNull();
});

test("a run is put together from what changes", () => {
  let run = applyEvent(newRun("r"), "run", {
    prompt_id: "r",
    state: "running",
    tick: 5,
    score: 1.5,
  });
  run = applyEvent(run, "run", { prompt_id: "r", tick: 6 });
  run = applyEvent(run, "nodes", {
    prompt_id: "r",
    nodes: { a: { state: "running", us: 250 }, b: { state: "nonsense" } },
  });
  run = applyEvent(run, "nodes", { prompt_id: "r", nodes: { a: { state: "skipped" } } });
  run = applyEvent(run, "values", { prompt_id: "r", values: { "a.x": 0.123456, "a.y": "up" } });
  expect([run.state, run.tick, run.score]).toEqual(["running", 6, 1.5]);
  expect([run.nodes.get("a"), run.nodes.get("b")?.state]).toEqual([
    {
      runs: 0,
      ranAt: 0,
      state: "skipped",
      ms: 0.25,
      error: null,
      thinkTimes: [],
      savings: [],
      restarts: 0,
      progress: null,
    },
    null,
  ]);
  expect([...run.values]).toEqual([
    ["a.x", "0.123"],
    ["a.y", "up"],
  ]);
  expect(applyEvent(run, "run", { prompt_id: "other", tick: 9 })).toBe(run);
  const found = applyEvent(run, "nodes", {
    prompt_id: "r",
    nodes: { a: { state: "running", savings: [["model in memory", 0.25], ["x", 1e-5], ["y"]] } },
  });
  const working = applyEvent(found, "nodes", {
    prompt_id: "r",
    nodes: {
      a: { progress: { done: 3, total: 4, text: "loss 0.5" } },
      b: { progress: { done: 7, total: null, text: "" } },
    },
  });
  const [one, other] = ["a", "b"].map((id) => working.nodes.get(id)!.progress);
  expect([shareDone(one!), progressText(one!)]).toEqual([0.75, "3 of 4: loss 0.5"]);
  expect([shareDone(other!), progressText(other!)]).toEqual([null, "7"]);
  expect([shareDone(null), progressText(null)]).toEqual([null, ""]);
  const { savings } = found.nodes.get("a")!;
  expect(savingsText(savings)).toBe(
    "Found in a cache, which saved 250 ms\nmodel in memory: 250 ms\nx: less than 1 ms",
  );
  expect([areNotable(savings), areNotable([["x", 1e-5]]), savingsText([])]).toEqual([
    true,
    false,
    "",
  ]);
  const failed = applyEvent(run, "failed", { prompt_id: "r", message: "It broke.", node: "a" });
  expect([failed.state, failed.error, failed.nodes.get("a")?.error]).toEqual([
    "failed",
    "It broke.",
    "It broke.",
  ]);
});

test("keys are told as commands write them", () => {
  const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
    keyCombination({
      key,
      ctrlKey: false,
      metaKey: false,
      altKey: false,
      shiftKey: false,
      ...more,
    } as KeyboardEvent);
  expect([
    press("Z", { ctrlKey: true, shiftKey: true }),
    press("?", { shiftKey: true }),
    press("Enter", { metaKey: true }),
    press("ArrowUp", { altKey: true }),
  ]).toEqual(["Mod+Shift+z", "?", "Mod+Enter", "Alt+ArrowUp"]);
});
