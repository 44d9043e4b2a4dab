import { describe, expect, it } from "vitest";
import {
  ALL_SAMPLES,
  type Asking,
  askingText,
  corrections,
  type DataSetOverview,
  type Sample,
  sampleQuery,
} from "../src/model/samples";

const sample = (episode: string, tick: number, label: number | null): Sample => ({
  episode,
  tick,
  label,
  original: 2,
  second: null,
  played: null,
  actionable: true,
  answer: null,
  share: null,
});

describe("samples", () => {
  it("are asked for by what is chosen", () => {
    expect(sampleQuery(ALL_SAMPLES, 60, 60)).toBe(
      "offset=60&limit=60&kept=kept&answer=any&order=time",
    );
    const filter = { ...ALL_SAMPLES, label: "3", actionable: "false" as const };
    expect(sampleQuery(filter, 0, 1)).toContain("label=3");
    expect(sampleQuery(filter, 0, 1)).toContain("actionable=false");
  });

  it("are corrected by episode and tick, and get their labels back", () => {
    const samples = [sample("a", 0, 1), sample("a", 10, null), sample("b", 0, 2)];
    expect(corrections(samples, () => null)).toEqual({ a: { 0: null, 10: null }, b: { 0: null } });
    expect(corrections(samples, ({ label }) => label)).toEqual({
      a: { 0: 1, 10: null },
      b: { 0: 2 },
    });
  });

  it("say how far a brain was asked", () => {
    const asking: Asking = {
      data: "duel",
      brain: "vlm/a.safetensors",
      question: "?",
      episode: null,
      state: "running",
      done: 1200,
      total: 5000,
      error: null,
    };
    const overview = { asked: 1200, agreed: 900 } as DataSetOverview;
    expect(askingText(asking, overview)).toBe(
      "1,200 of 5,000 asked; agrees with 75.0 % of the labels",
    );
    const stopped = { ...asking, state: "stopped" as const };
    expect(askingText(stopped, { ...overview, asked: 0 })).toBe("1,200 of 5,000 asked, stopped");
    expect(askingText({ ...asking, state: "failed", error: "It broke." }, overview)).toBe(
      "It broke.",
    );
  });
});
