/** A few node types as the server would describe them. */

import {
  Catalog,
  type Input,
  type NodeType,
  type Output,
  type SocketKind,
} from "../src/model/catalog";

export function kind(text: string): SocketKind {
  if (text === "any") return { kind: "anything", options: [], variable: null, anything: true };
  if (text === "T") return { kind: "T", options: [], variable: "T", anything: false };
  const options = text.split(" or ").map((part) => {
    const [label, spec] = part.split(/ (.*)/s) as [string, string | undefined];
    const match = /^(\w+)\[(.*)\]$/.exec(spec ?? "");
    const dims = (match?.[2] ?? "")
      .split(" ")
      .filter(Boolean)
      .map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
    return { label, dtype: match?.[1] ?? null, dims };
  });
  return { kind: text, options, variable: null, anything: false };
}

const input = (text: string, more: Partial<Input> = {}): Input => ({
  ...kind(text),
  reading: "last",
  many: false,
  required: true,
  doc: "",
  ...more,
});
const output = (text: string): Output => ({ ...kind(text), absent: false, lazy: false, doc: "" });

function type(
  name: string,
  inputs: Record<string, Input>,
  outputs: Record<string, Output>,
  more: Partial<NodeType> = {},
): NodeType {
  return {
    type: `${name}@1`,
    category: "test",
    summary: `${name} does its work.`,
    doc: "",
    inputs,
    outputs,
    widgets: {},
    brain: null,
    register: false,
    console: false,
    external: false,
    every_tick: false,
    background: null,
    ...more,
  };
}

const widget = (schema: NodeType["widgets"][string]["schema"], value: string | number) => ({
  type: "",
  schema,
  default: value,
  required: false,
  doc: "",
  names: null,
});

export const TYPES: readonly NodeType[] = [
  type(
    "RetroEmulator",
    { pad1: input("pad", { required: false }), pad2: input("pad", { required: false }) },
    {
      frame: output("frame u8[h w 3]"),
      variables: output("variables"),
      reward: output("number"),
      terminated: output("flag"),
    },
    { register: true, console: true, widgets: { game: widget({ type: "string" }, "Airstriker") } },
  ),
  type("ScriptedFighter", { variables: input("variables") }, { pad: output("pad") }),
  type("Grayscale", { frame: input("frame u8[h w 3]") }, { frame: output("frame u8[h w 1]") }),
  type(
    "Resize",
    { frame: input("frame u8[h w c]") },
    { frame: output("frame u8[{height} {width} c]") },
  ),
  type("FixedHead", { frame: input("frame u8[84 84 1]") }, { logits: output("logits f32[8]") }),
  type(
    "Score",
    { rewards: input("number", { many: true, reading: "on" }) },
    { number: output("number") },
  ),
  type("Previous", { value: input("T") }, { value: output("T") }, { register: true }),
  type("Reroute", { value: input("T") }, { value: output("T") }),
  type("Log", { value: input("any") }, {}),
  type("Preview", { frame: input("frame u8[h w c]") }, {}),
  type("Either", { value: input("flag or number") }, { value: output("flag or number") }),
  type("Flagged", { value: input("flag") }, { value: output("flag") }),
];

export const catalog = new Catalog(Object.fromEntries(TYPES.map((each) => [each.type, each])));
