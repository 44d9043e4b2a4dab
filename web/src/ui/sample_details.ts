/** What is known of the sample that is looked at, and what can be done with those that are selected. */

import type { DataSetOverview, Moment, Sample } from "../model/samples";
import { button, h } from "./dom";
import { percent } from "./sample_grid";

export interface SampleActions {
  /** Return the address of a picture. */
  picture(sample: Sample): string;
  moment(sample: Sample): Promise<Moment>;
  label(action: number): void;
  remove(): void;
  restore(): void;
}

export class SampleDetails {
  readonly element = h("aside", { class: "sample-details", "aria-label": "Sample" });
  #shown = "";

  constructor(private readonly actions: SampleActions) {}

  show(
    overview: DataSetOverview,
    sample: Sample | undefined,
    selection: readonly Sample[],
    question: string,
  ): void {
    if (!sample) {
      this.#shown = "";
      this.element.replaceChildren();
      return;
    }
    const { scrollTop } = this.element;
    const features = h("dl", { class: "facts features", "aria-label": "Variables" });
    const prompt = h("div");
    this.element.replaceChildren(
      h("img", { src: this.actions.picture(sample), alt: "What is seen" }),
      this.#controls(overview, selection),
      facts(overview, sample, question),
      prompt,
      h("h3", {}, "Variables"),
      features,
    );
    void this.#fill(prompt, features, sample);
    const shown = `${sample.episode} ${sample.tick}`;
    this.element.scrollTop = shown === this.#shown ? scrollTop : 0;
    this.#shown = shown;
  }

  #controls({ actions }: DataSetOverview, selection: readonly Sample[]): HTMLElement {
    const labels = new Set(selection.map(({ label }) => label));
    const [common] = labels.size === 1 ? labels : [null];
    const several = `${selection.length} samples are selected`;
    const choice = h("select", { class: "field", "aria-label": "Correct the label" });
    if (common === null || common === undefined)
      choice.append(h("option", { value: "", selected: true, disabled: true }, "choose a label"));
    for (const [number, name] of actions.entries())
      choice.append(h("option", { value: String(number), selected: number === common }, name));
    choice.addEventListener("change", () => this.actions.label(Number(choice.value)));
    const isChanged = selection.some(({ label, original }) => label !== original);
    const isKept = selection.some(({ label }) => label !== null);
    const remove = button("Delete", () => this.actions.remove(), "danger", "trash");
    remove.disabled = !isKept;
    const restore = button("Restore", () => this.actions.restore(), "", "undo");
    restore.disabled = !isChanged;
    restore.title = "As it was collected";
    return h(
      "section",
      { class: "sample-controls", "aria-label": "Correct" },
      selection.length > 1 ? h("p", { class: "label" }, several) : null,
      h("label", { class: "stack" }, h("span", { class: "label" }, "Label"), choice),
      h("div", { class: "button-list" }, remove, restore),
    );
  }

  async #fill(prompt: HTMLElement, list: HTMLElement, sample: Sample): Promise<void> {
    const found = await this.actions.moment(sample).catch((error: Error) => error);
    if (found instanceof Error) {
      list.replaceChildren(h("dd", { class: "bad" }, found.message));
      return;
    }
    if (found.prompt !== null)
      prompt.replaceChildren(
        h("h3", {}, "Prompt"),
        h("p", { class: "prompt", "aria-label": "Prompt" }, found.prompt),
      );
    const rows = Object.entries(found.features).flatMap(([name, value]) => [
      h("dt", {}, name),
      h("dd", {}, String(value)),
    ]);
    list.replaceChildren(...rows);
  }
}

function facts(overview: DataSetOverview, sample: Sample, question: string): HTMLElement {
  const name = (action: number | null) => (action === null ? null : overview.actions[action]!);
  const episode = overview.episodes.find(({ episode: key }) => key === sample.episode);
  const isCorrected = sample.label !== sample.original;
  const effect = { true: "yes", false: "no", null: "not known" };
  const rows: readonly (readonly [string, string | null])[] = [
    ["Label", name(sample.label) ?? "deleted"],
    ["Collected as", isCorrected ? name(sample.original) : null],
    ["Second best", name(sample.second)],
    ["Played", name(sample.played) ?? "nothing new"],
    ["Answer", sample.answer === null ? null : `${name(sample.answer)} ${percent(sample.share)}`],
    ["Question", sample.answer === null || !question ? null : question],
    ["Has effect", effect[String(sample.actionable) as keyof typeof effect]],
    ["Tick", String(sample.tick)],
    ["State", episode?.state ?? null],
    ["Outcome", episode?.outcome ?? null],
    ["Episode", sample.episode],
  ];
  const known = rows.filter(([, value]) => value !== null);
  return h(
    "dl",
    { class: "facts", "aria-label": "Facts" },
    ...known.flatMap(([title, value]) => [h("dt", {}, title), h("dd", {}, value)]),
  );
}
