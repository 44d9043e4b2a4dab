import { describe, expect, it } from "vitest";

import { copyNodes, parseClipboard, pasteNodes } from "../src/model/clipboard";
import { addLink, freeId, removeNodes, renameNode, setWidget } from "../src/model/edits";
import {
  flatNodes,
  insideOf,
  makeBox,
  NEW_SOCKET,
  renamePart,
  resolveOutput,
  shownOutputs,
  showWidget,
  subgraphNameFor,
  unpackBox,
  withInside,
  withoutUnused,
} from "../src/model/subgraphs";
import type { Workflow } from "../src/model/workflow";

const FLAT: Workflow = {
  minibrains: 1,
  nodes: {
    console: { type: "Console@1", in: { pad1: "sink.pad" } },
    clock: { type: "Every@1" },
    grey: { type: "Grayscale@1", in: { frame: "console.frame" } },
    small: { type: "Resize@1", set: { width: 20 }, in: { frame: "grey.frame" }, when: "clock.now" },
    sum: { type: "All@1", in: { flags: ["clock.now", "small.flag", "console.done"] } },
    sink: { type: "Sink@1", in: { action: "sum.flag", frame: "small.frame" } },
  },
  layout: { grey: [100, 100], small: [400, 140], sum: [700, 100] },
  breakpoints: { "small.frame": "> 1", "sink.pad": "> 2" },
};
const INSIDE = ["grey", "small", "sum"];
const BOXED = makeBox(FLAT, INSIDE, "eyes", "Eyes");

function unpacked(workflow: Workflow): Workflow {
  const free = (wanted: string, taken: ReadonlySet<string>) => freeId(workflow, wanted, taken);
  return withoutUnused(unpackBox(workflow, "eyes", free).workflow);
}

describe("a box", () => {
  it("has sockets for the wires that cross its border", () => {
    expect(BOXED.nodes.eyes).toEqual({
      type: "defs/eyes",
      title: "Eyes",
      in: { frame: "console.frame", clock: "clock.now", flags: "console.done" },
    });
    expect(BOXED.defs?.eyes?.inputs).toEqual({
      frame: "grey.frame",
      clock: ["small.when", "sum.flags.0"],
      flags: "sum.flags.2",
    });
    expect(BOXED.defs?.eyes?.outputs).toEqual({ flag: "sum.flag", frame: "small.frame" });
    expect(BOXED.defs?.eyes?.nodes.sum?.in).toEqual({ flags: ["small.flag"] });
    expect(BOXED.nodes.sink?.in).toEqual({ action: "eyes.flag", frame: "eyes.frame" });
    expect(BOXED.breakpoints).toEqual({ "eyes/small.frame": "> 1", "sink.pad": "> 2" });
  });

  it("gives back what was put into it", () => {
    const result = unpacked(BOXED);
    expect(result).toEqual({ ...FLAT, nodes: expect.anything(), layout: FLAT.layout });
    expect(result.nodes).toEqual(FLAT.nodes);
    expect(result.defs).toBeUndefined();
  });

  it("gives its settings back as well", () => {
    const shown = showWidget(BOXED, "eyes", "small", "width", true);
    expect(shown.defs?.eyes?.widgets).toEqual({ width: "small.width" });
    expect(unpacked(setWidget(shown, "eyes", "width", 44)).nodes.small?.set).toEqual({ width: 44 });
  });

  it("may be inside of another", () => {
    const outer = makeBox(BOXED, ["eyes", "clock"], "agent", "Agent");
    expect([...flatNodes(outer).keys()]).toEqual([
      "console",
      "agent/clock",
      "agent/eyes/grey",
      "agent/eyes/small",
      "agent/eyes/sum",
      "sink",
    ]);
    const output = { node: "agent", socket: "frame" };
    expect(resolveOutput(outer, output)).toEqual({ node: "agent/eyes/small", socket: "frame" });
    expect(outer.breakpoints).toEqual({ "agent/eyes/small.frame": "> 1", "sink.pad": "> 2" });
    const inside = insideOf(outer, "agent/eyes")!;
    expect(shownOutputs(outer, inside).get("agent/eyes/:in.clock")).toBe("agent/clock.now");
    expect(shownOutputs(outer, insideOf(outer, "agent")!).get("agent/eyes.frame")).toBe(
      "agent/eyes/small.frame",
    );
  });
});

describe("the inside of a box", () => {
  const inside = insideOf(BOXED, "eyes")!;

  it("is a workflow with full paths and a border", () => {
    expect(inside.nodes["eyes/sum"]?.in).toEqual({
      flags: ["eyes/:in.clock", "eyes/small.flag", "eyes/:in.flags"],
    });
    expect(inside.nodes["eyes/small"]?.when).toBe("eyes/:in.clock");
    expect(inside.nodes["eyes/:out"]?.in).toEqual({
      flag: "eyes/sum.flag",
      frame: "eyes/small.frame",
    });
  });

  it("changes nothing if nothing is changed", () => {
    const { layout: _, ...eyes } = withInside(BOXED, "eyes", inside).defs!.eyes!;
    const { layout: __, ...before } = BOXED.defs!.eyes!;
    expect(eyes).toEqual(before);
    expect(eyes.nodes).toEqual(before.nodes);
  });

  it("gets sockets by links to the new one", () => {
    const from = { node: "eyes/:in", socket: NEW_SOCKET };
    const to = { node: "eyes/grey", socket: "mask" };
    const out = { node: "eyes/:out", socket: NEW_SOCKET };
    let next = addLink(inside, { from, to });
    next = addLink(next, { from: { node: "eyes/grey", socket: "frame" }, to: out });
    const { inputs, outputs } = withInside(BOXED, "eyes", next).defs!.eyes!;
    expect(inputs?.mask).toBe("grey.mask");
    expect(outputs?.frame_2).toBe("grey.frame");
  });

  it("keeps widgets of renamed nodes, and inputs of removed ones", () => {
    const shown = showWidget(BOXED, "eyes", "small", "width", true);
    const renamed = renameNode(insideOf(shown, "eyes")!, "eyes/small", "eyes/little");
    const whole = withInside(shown, "eyes", renamed, ["eyes/small", "eyes/little"]);
    expect(whole.defs?.eyes?.widgets).toEqual({ width: "little.width" });
    expect(whole.breakpoints).toEqual({ "eyes/little.frame": "> 1", "sink.pad": "> 2" });
    const removed = removeNodes(insideOf(shown, "eyes")!, new Set(["eyes/grey", "eyes/small"]));
    const left = withInside(shown, "eyes", removed).defs!.eyes!;
    expect(left.inputs).toEqual({ frame: [], clock: "sum.flags.0", flags: "sum.flags.1" });
    expect([left.outputs, left.widgets]).toEqual([{ flag: "sum.flag" }, undefined]);
  });

  it("gives new nodes ids inside of it", () => {
    expect(freeId(inside, "grey")).toBe("eyes/grey_2");
    expect(freeId(inside, "Other")).toBe("eyes/other");
  });
});

describe("sockets of boxes", () => {
  it("are renamed and removed with what leads to them", () => {
    const outer = makeBox(BOXED, ["eyes"], "agent", "Agent");
    const renamed = renamePart(outer, "eyes", "outputs", "frame", "picture");
    expect(renamed.defs?.agent?.outputs).toEqual({ flag: "eyes.flag", frame: "eyes.picture" });
    const fed = renamePart(renamed, "eyes", "inputs", "frame", "screen");
    expect(fed.defs?.agent?.inputs?.frame).toBe("eyes.screen");
    const inner = renamePart(BOXED, "eyes", "inputs", "frame", "screen");
    expect(inner.nodes.eyes?.in?.screen).toBe("console.frame");
    const gone = renamePart(BOXED, "eyes", "outputs", "frame", null);
    expect(gone.nodes.sink?.in).toEqual({ action: "eyes.flag" });
    expect(gone.defs?.eyes?.outputs).toEqual({ flag: "sum.flag" });
  });
});

describe("copied boxes", () => {
  it("bring their subgraphs along", () => {
    const clip = parseClipboard(copyNodes(BOXED, ["eyes"]))!;
    const pasted = pasteNodes({ minibrains: 1, nodes: {} }, clip, [0, 0]).workflow;
    expect(pasted.defs).toEqual(BOXED.defs);
    const other = showWidget(BOXED, "eyes", "small", "width", true);
    const both = pasteNodes(other, clip, [0, 0]).workflow;
    expect(both.nodes.eyes_2?.type).toBe("defs/eyes_2");
    expect(Object.keys(both.defs!)).toEqual(["eyes", "eyes_2"]);
    expect(subgraphNameFor(both, "Eyes")).toBe("eyes_3");
  });

  it("are linked inside of a box as they were", () => {
    const inside = insideOf(BOXED, "eyes")!;
    const clip = parseClipboard(copyNodes(inside, ["eyes/small"]))!;
    const pasted = pasteNodes(inside, clip, [0, 0], true).workflow;
    expect(pasted.nodes["eyes/small_2"]?.in).toEqual({ frame: "eyes/grey.frame" });
    expect(pasted.nodes["eyes/small_2"]?.when).toBe("eyes/:in.clock");
  });
});
