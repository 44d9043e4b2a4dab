import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { copyNodes, findFreePosition, parseClipboard, pasteNodes } from "../src/model/clipboard";
import { diffWorkflows } from "../src/model/diff";
import * as edits from "../src/model/edits";
import { History } from "../src/model/history";
import { dumpJson, own, withKey } from "../src/model/json";
import {
  EMPTY,
  isCondition,
  links,
  type NodeEntry,
  parseWorkflow,
  positionOf,
  readGroup,
  styleOf,
  type Workflow,
  WorkflowError,
  workflowFromJson,
} from "../src/model/workflow";

const entry = (type: string, more: Partial<NodeEntry> = {}): NodeEntry => ({ type, ...more });

const duel = workflowFromJson({
  minibrains: 1,
  title: "Duel",
  nodes: {
    console: {
      type: "RetroEmulator@1",
      set: { game: "Duel-Genesis" },
      in: { pad1: "fighter.pad" },
    },
    fighter: { type: "ScriptedFighter@1", in: { variables: "console.variables" }, every: 2 },
    score: { type: "Score@1", in: { rewards: ["console.reward"] } },
  },
  layout: { console: [80, 80], fighter: [464, 80, 240], score: [464, 300] },
});

describe("reading and writing", () => {
  const folder = new URL("../../workflows/", import.meta.url);
  test.each(readdirSync(folder))("%s comes back as it was", (name) => {
    const text = readFileSync(new URL(name, folder), "utf8");
    expect(JSON.parse(dumpJson(parseWorkflow(text)))).toEqual(JSON.parse(text));
  });

  test("what is not known is kept through edits: keys, types, links to nodes that are not there", () => {
    const strange = workflowFromJson({
      minibrains: 1,
      extra: { mine: 1 },
      tomorrow: [1],
      nodes: { a: { type: "gone.Thing@7", set: { x: [1] }, in: { y: "nobody.z" }, colour: "red" } },
      groups: ["text", { title: "g", bounds: [0, 0, 9, 9] }],
    });
    const edited = edits.editGroup(edits.setWidget(strange, "a", "w", 3), 1, { title: "h" });
    expect(JSON.parse(dumpJson(edited))).toEqual({
      minibrains: 1,
      extra: { mine: 1 },
      tomorrow: [1],
      nodes: {
        a: { type: "gone.Thing@7", set: { x: [1], w: 3 }, in: { y: "nobody.z" }, colour: "red" },
      },
      groups: ["text", { title: "h", bounds: [0, 0, 9, 9] }],
    });
  });

  test.each([
    ["{", /not JSON/],
    ["[]", /JSON object/],
    ["{}", /"minibrains" is missing/],
    ['{"3": {"class_type": "KSampler", "inputs": {}}}', /ComfyUI workflow/],
    ['{"nodes": [], "links": [], "version": 0.4}', /ComfyUI workflow/],
    ['{"minibrains": 9, "nodes": {}}', /newer Minibrains/],
    ['{"minibrains": 1, "nodes": {"a b": {}}}', /may only have a-z/],
    ['{"minibrains": 1, "nodes": {"a": 3}}', /not a JSON object/],
    ['{"minibrains": 1, "nodes": {"a": {}}}', /no "type"/],
  ])("%s is refused in a sentence", (text, words) => {
    expect(() => parseWorkflow(text)).toThrow(WorkflowError);
    expect(() => parseWorkflow(text)).toThrow(words);
  });

  test("ids that are properties of every object are ordinary ids", () => {
    const text =
      '{"minibrains":1,"nodes":{"__proto__":{"type":"Log@1"},"constructor":{"type":"Log@1"}},"layout":{"__proto__":[1,2]}}';
    const workflow = edits.setWidget(parseWorkflow(text), "__proto__", "x", 1);
    expect(own(workflow.nodes, "__proto__")).toEqual({ type: "Log@1", set: { x: 1 } });
    expect(own(workflow.nodes, "toString")).toBeUndefined();
    expect(positionOf(workflow, "__proto__")).toEqual({ at: [1, 2] });
    expect(({} as Record<string, unknown>).x).toBeUndefined();
    expect(edits.freeId(workflow, "constructor")).toBe("constructor_2");
  });

  test("a place that is no place counts as none", () => {
    expect(positionOf({ ...EMPTY, layout: { a: ["x", null] as never } }, "a")).toBeNull();
  });
});

describe("edits", () => {
  test("what did not change stays the same object", () => {
    const next = edits.setWidget(duel, "console", "game", "Pad-Genesis");
    expect(next.nodes.fighter).toBe(duel.nodes.fighter);
    expect(edits.setWidget(duel, "console", "game", "Duel-Genesis")).toBe(duel);
    expect(edits.setWidget(duel, "nobody", "game", "x")).toBe(duel);
  });

  test("a widget that goes back to its default leaves nothing behind", () => {
    expect(edits.setWidget(duel, "console", "game", undefined).nodes.console).toEqual({
      type: "RetroEmulator@1",
      in: { pad1: "fighter.pad" },
    });
  });

  test("links: one replaces, many are collected, taking out leaves no empty key", () => {
    const link = (from: string, to: string) => {
      const [[a, b], [c, d]] = [from.split("."), to.split(".")] as [
        [string, string],
        [string, string],
      ];
      return { from: { node: a, socket: b }, to: { node: c, socket: d } };
    };
    const replaced = edits.addLink(duel, link("other.pad", "console.pad1"));
    expect(replaced.nodes.console!.in).toEqual({ pad1: "other.pad" });
    const two = edits.addLink(duel, link("console.terminated", "score.rewards"), true);
    expect(two.nodes.score!.in).toEqual({ rewards: ["console.reward", "console.terminated"] });
    expect(edits.addLink(two, link("console.terminated", "score.rewards"), true)).toBe(two);
    expect(
      edits.removeLink(duel, link("fighter.pad", "console.pad1")).nodes.console,
    ).not.toHaveProperty("in");
    const when = edits.addLink(duel, link("console.terminated", "fighter.when"));
    expect(when.nodes.fighter!.when).toBe("console.terminated");
    expect(
      edits.removeLink(when, link("console.terminated", "fighter.when")).nodes.fighter!.when,
    ).toBeNull();
  });

  test("removing nodes removes every link from them", () => {
    const next = edits.removeNodes(duel, new Set(["fighter"]));
    expect(Object.keys(next.nodes)).toEqual(["console", "score"]);
    expect(next.nodes.console).not.toHaveProperty("in");
    expect(next.layout).not.toHaveProperty("fighter");
    expect(edits.removeNodes(duel, new Set(["nobody"]))).toBe(duel);
  });

  test("renaming takes links and place along, in the order of the file", () => {
    const next = edits.renameNode(duel, "console", "game");
    expect(Object.keys(next.nodes)).toEqual(["game", "fighter", "score"]);
    expect(next.nodes.fighter!.in).toEqual({ variables: "game.variables" });
    expect(next.nodes.score!.in).toEqual({ rewards: ["game.reward"] });
    expect(positionOf(next, "game")?.at).toEqual([80, 80]);
    expect(edits.renameNode(duel, "console", "score")).toBe(duel);
  });

  test("a node put into a wire stands between its ends", () => {
    const [link] = links(duel).filter(({ to }) => to.socket === "variables");
    const added = edits.addNode(duel, "knee", entry("Reroute@1"), [1, 2]);
    const next = edits.insertOnLink(added, link!, "knee", "value", "value");
    expect(next.nodes.knee!.in).toEqual({ value: "console.variables" });
    expect(next.nodes.fighter!.in).toEqual({ variables: "knee.value" });
  });

  test("ids: free, readable, numbered", () => {
    expect(edits.idFor(duel, "pack.FrameStack@2")).toBe("frame_stack");
    expect(edits.idFor(duel, "Score@1")).toBe("score_2");
    expect(edits.freeId(edits.addNode(duel, "score_2", entry("Score@1"), [0, 0]), "score_2")).toBe(
      "score_3",
    );
    expect(edits.freeId(EMPTY, "Ärger!")).toBe("rger");
  });

  test("places are whole numbers, and nothing changes when nothing moved", () => {
    expect(edits.moveNodes(duel, new Map([["fighter", { at: [464.2, 80], width: 240 }]]))).toBe(
      duel,
    );
    expect(
      positionOf(edits.moveNodes(duel, new Map([["console", { at: [1.6, 2] }]])), "console"),
    ).toEqual({ at: [2, 2] });
  });

  test("groups come and go", () => {
    const agent = { title: "Agent", text: "", colour: null };
    const grouped = edits.addGroup(duel, [0.4, 0, 100, 100], agent);
    expect(grouped.groups).toEqual([{ title: "Agent", bounds: [0, 0, 100, 100] }]);
    expect(edits.editGroup(grouped, 0, { bounds: [8, 8, 50, 50] }).groups).toEqual([
      { title: "Agent", bounds: [8, 8, 50, 50] },
    ]);
    expect(edits.editGroup(grouped, 0, null)).not.toHaveProperty("groups");
    expect(edits.editGroup(grouped, 5, null)).toBe(grouped);
  });

  test("a note has a text and a colour, which can be taken away", () => {
    const note = { title: "Note", text: "why", colour: "teal" } as const;
    const noted = edits.addGroup(duel, [0, 0, 100, 100], note);
    expect(readGroup(noted.groups![0]!)).toEqual({ ...note, bounds: [0, 0, 100, 100] });
    const plain = edits.editGroup(noted, 0, { text: "", colour: null });
    expect(plain.groups).toEqual([{ title: "Note", bounds: [0, 0, 100, 100] }]);
    const strange = { title: 1, bounds: [0, 0, 9, 9], text: ["x"], colour: "red; x" };
    expect(readGroup(strange)).toEqual({ title: "", bounds: [0, 0, 9, 9], text: "", colour: null });
  });

  test("looks stay with a node that is moved, renamed and copied, and change no node", () => {
    const where = new Map([
      ["console", [80, 80]],
      ["fighter", [464, 80]],
    ] as const);
    const red = edits.setStyle(duel, where, { colour: "red" });
    expect(red.nodes).toBe(duel.nodes);
    expect(red.layout).toEqual({
      ...duel.layout,
      console: [80, 80, null, { colour: "red" }],
      fighter: [464, 80, 240, { colour: "red" }],
    });
    expect(edits.setStyle(red, where, { colour: "red" })).toBe(red);
    expect(edits.setStyle(red, where, { colour: null })).toEqual(duel);
    const both = edits.setStyle(red, where, { collapsed: true });
    const moved = edits.moveNodes(both, new Map([["fighter", { at: [8, 16], width: 240 }]]));
    const style = { colour: "red", collapsed: true };
    expect(moved.layout!.fighter).toEqual([8, 16, 240, style]);
    expect(styleOf(edits.renameNode(moved, "fighter", "mine"), "mine")).toEqual(style);
    const clip = parseClipboard(copyNodes(moved, ["fighter"]))!;
    const pasted = pasteNodes(duel, clip, [40, 48]).workflow;
    expect(pasted.layout!.fighter_2).toEqual([40, 48, 240, style]);
    const odd = { ...duel, layout: { fighter: [1, 2, "x", { colour: "pink", collapsed: 1 }] } };
    expect(styleOf(odd as Workflow, "fighter")).toEqual({ colour: null, collapsed: false });
  });

  test("mute and run again leave no trace", () => {
    const muted = edits.setMode(duel, ["fighter", "score"], "mute");
    expect(muted.nodes.score!.mode).toBe("mute");
    expect(edits.setMode(muted, ["fighter", "score"], "run")).toEqual(duel);
  });
});

describe("history", () => {
  const titled = (title: string): Workflow => withKey(EMPTY, "title", title);

  test("one step a gesture, and typing in one field is one gesture", () => {
    const history = new History(EMPTY);
    history.commit(titled("a"), "title");
    history.commit(titled("ab"), "title");
    history.endGesture();
    history.commit(titled("abc"), "title");
    history.commit(titled("x"));
    expect([history.undo(), history.present.title]).toEqual([true, "abc"]);
    history.undo();
    expect(history.present.title).toBe("ab");
    history.undo();
    expect(history.present).toBe(EMPTY);
    expect(history.undo()).toBe(false);
    for (const title of ["ab", "abc", "x"]) {
      history.redo();
      expect(history.present.title).toBe(title);
    }
    expect(history.redo()).toBe(false);
  });

  test("a new edit ends what could be redone; the same workflow is not a step", () => {
    const history = new History(EMPTY);
    history.commit(titled("a"));
    history.undo();
    history.commit(titled("b"));
    expect(history.canRedo).toBe(false);
    expect(history.commit(history.present)).toBe(false);
    expect(history.withdraw()).toBe(true);
    expect([history.present, history.canRedo, history.canUndo]).toEqual([EMPTY, false, false]);
  });
});

describe("clipboard", () => {
  test("nodes come back with fresh ids, the links among them, and their arrangement", () => {
    const clip = parseClipboard(copyNodes(duel, ["console", "fighter"]))!;
    const { workflow, ids } = pasteNodes(duel, clip, [1000, 1000]);
    expect(ids).toEqual(["console_2", "fighter_2"]);
    expect(workflow.nodes.console_2!.in).toEqual({ pad1: "fighter_2.pad" });
    expect(workflow.nodes.fighter_2).toEqual({
      type: "ScriptedFighter@1",
      in: { variables: "console_2.variables" },
      every: 2,
    });
    expect(positionOf(workflow, "fighter_2")).toEqual({ at: [1384, 1000], width: 240 });
    expect(workflow.nodes.console).toBe(duel.nodes.console);
  });

  test("links from outside come along only when asked for, and only if their node is there", () => {
    const clip = parseClipboard(copyNodes(duel, ["score"]))!;
    expect(pasteNodes(duel, clip, [0, 0]).workflow.nodes.score_2).toEqual({ type: "Score@1" });
    expect(pasteNodes(duel, clip, [0, 0], true).workflow.nodes.score_2!.in).toEqual({
      rewards: ["console.reward"],
    });
    expect(pasteNodes(EMPTY, clip, [0, 0], true).workflow.nodes.score).toEqual({ type: "Score@1" });
  });

  test("pasted nodes find a free place near the pointer", () => {
    const clip = [
      [500, 500, 200, 100],
      [800, 500, 200, 100],
    ] as const;
    expect(findFreePosition(clip, [], [10, 20])).toEqual([10, 20]);
    expect(findFreePosition(clip, [[400, 0, 100, 100]], [0, 0])).toEqual([0, 128]); // the second would lie on it
    expect(findFreePosition(clip, [[200, 100, 100, 100]], [0, -16])).toEqual([0, -16]); // between the two
  });

  test("a whole workflow can be pasted; anything else is not ours", () => {
    expect(Object.keys(parseClipboard(dumpJson(duel))!.nodes)).toEqual([
      "console",
      "fighter",
      "score",
    ]);
    for (const text of [
      "",
      "hello",
      "3",
      "{}",
      '{"nodes": {}}',
      '{"minibrains_nodes": 1, "nodes": {"A B": {}}}',
    ])
      expect(parseClipboard(text)).toBeNull();
  });
});

test("what differs between two saves is told by node and value", () => {
  const mine = edits.removeNodes(
    edits.setWidget(duel, "console", "game", "Pad-Genesis"),
    new Set(["score"]),
  );
  expect(diffWorkflows(duel, edits.addNode(mine, "log", entry("Log@1"), [0, 0]))).toEqual([
    { what: "changed", name: "console", details: ['game: "Duel-Genesis" → "Pad-Genesis"'] },
    { what: "removed", name: "score", details: ["Score@1"] },
    { what: "added", name: "log", details: ["Log@1"] },
    { what: "changed", name: "layout", details: [] },
  ]);
  expect(diffWorkflows(duel, duel)).toEqual([]);
});

test("a breakpoint goes with its node", () => {
  const output = { node: "console", socket: "reward" };
  const broken = edits.setBreakpoint(duel, output, "< 0");
  expect(broken.breakpoints).toEqual({ "console.reward": "< 0" });
  expect(edits.setBreakpoint(broken, output, "< 0")).toBe(broken);

  expect(edits.renameNode(broken, "console", "game").breakpoints).toEqual({ "game.reward": "< 0" });
  expect(edits.removeNodes(broken, new Set(["console"])).breakpoints).toBeUndefined();
  expect(edits.removeNodes(broken, new Set(["fighter"])).breakpoints).toEqual(broken.breakpoints);
  expect(edits.setBreakpoint(broken, output, undefined).breakpoints).toBeUndefined();
});

test("a condition is an operator and a value in JSON, and only numbers are more or less", () => {
  for (const text of ["< 0", ">=0.5", "== true", '!= "jump"', " == -1 "])
    expect(isCondition(text)).toBe(true);
  for (const text of ["", "0", "< true", "== jump", "=< 3", "<", "== [1]"])
    expect(isCondition(text)).toBe(false);
});
