import { describe, expect, it } from "vitest";

import { withoutReplacedNodes } from "../src/model/replaced_nodes";
import { flatNodes, makeBox, showWidget } from "../src/model/subgraphs";
import type { NodeEntry, Workflow } from "../src/model/workflow";

const FLAT: Workflow = {
  minibrains: 1,
  nodes: {
    console: { type: "Console@1" },
    clock: { type: "Every@1" },
    grey: { type: "Grayscale@1", in: { frame: "console.frame" } },
    small: { type: "Resize@1", set: { width: 20 }, in: { frame: "grey.frame" }, when: "clock.now" },
  },
};
const BOXED = showWidget(
  makeBox(FLAT, ["grey", "small"], "eyes", "Eyes"),
  "eyes",
  "small",
  "width",
  true,
);
const TWO: Workflow = {
  ...BOXED,
  nodes: { ...BOXED.nodes, others: { ...BOXED.nodes.eyes!, set: { width: 33 } } },
};
/** The whole entry of a node inside, as a run has it. */
const small = (box: string, changes: Partial<NodeEntry>): NodeEntry => ({
  type: "Resize@1",
  set: { width: 20 },
  in: { frame: `${box}/grey.frame` },
  when: "clock.now",
  ...changes,
});

describe("a node that is replaced in one box", () => {
  it("is changed inside of the box", () => {
    const replaced = {
      ...BOXED,
      nodes: { ...BOXED.nodes, "eyes/small": small("eyes", { set: { width: 9 } }) },
    };
    const result = withoutReplacedNodes(replaced);
    expect(Object.keys(result.nodes)).toEqual(Object.keys(BOXED.nodes));
    expect(result.defs).toEqual({
      eyes: {
        ...BOXED.defs!.eyes,
        nodes: {
          ...BOXED.defs!.eyes!.nodes,
          small: { ...BOXED.defs!.eyes!.nodes.small, set: { width: 9 } },
        },
      },
    });
  });

  it("changes no other box", () => {
    const entry = small("others", { set: { width: 9 }, mode: "mute" });
    const result = withoutReplacedNodes({ ...TWO, nodes: { ...TWO.nodes, "others/small": entry } });
    expect(result.nodes.eyes).toEqual(TWO.nodes.eyes);
    expect(result.defs!.eyes).toEqual(TWO.defs!.eyes);
    expect(result.nodes.others!.type).toBe("defs/eyes_2");
    expect(result.nodes.others!.set).toBeUndefined();
    expect(flatNodes(result).get("others/small")).toEqual({
      ...TWO.defs!.eyes!.nodes.small,
      set: { width: 9 },
      mode: "mute",
    });
  });

  it("keeps what boxes around it give to it", () => {
    const muted = {
      ...BOXED,
      nodes: { ...BOXED.nodes, eyes: { ...BOXED.nodes.eyes!, mode: "mute" as const } },
    };
    const entry = small("eyes", { set: { width: 9 }, mode: "mute" });
    const result = withoutReplacedNodes({
      ...muted,
      nodes: { ...muted.nodes, "eyes/small": entry },
    });
    expect(result.nodes.eyes!.mode).toBe("mute");
    expect(result.defs!.eyes!.nodes.small!.mode).toBeUndefined();
  });

  it("may be in a box within a box", () => {
    const outer = makeBox(BOXED, ["eyes"], "agent", "Agent");
    const two = { ...outer, nodes: { ...outer.nodes, other: outer.nodes.agent! } };
    const entry = small("agent/eyes", { set: { width: 9 } });
    const result = withoutReplacedNodes({
      ...two,
      nodes: { ...two.nodes, "agent/eyes/small": entry },
    });
    const flat = flatNodes(result);
    expect(flat.get("agent/eyes/small")!.set).toEqual({ width: 9 });
    expect(flat.get("other/eyes/small")!.set).toEqual({ width: 20 });
    expect([...flat.keys()].sort()).toEqual([...flatNodes(two).keys()].sort());
  });

  it("stays if there is no such box", () => {
    const lost = { ...FLAT, nodes: { ...FLAT.nodes, "eyes/small": small("eyes", {}) } };
    expect(withoutReplacedNodes(lost)).toEqual(lost);
    expect(withoutReplacedNodes(BOXED)).toBe(BOXED);
  });
});
