/** A page of samples as pictures with label and answer. Several can be selected, with mouse or keyboard. */

import type { Sample } from "../model/samples";
import { h } from "./dom";

interface Settings {
  /** Return the address of a picture. */
  picture(sample: Sample): string;
  /** The names of the actions. */
  action(number: number): string;
  /** Called when another sample is looked at, or others are selected. */
  selected(): void;
}

export class SampleGrid {
  readonly element = h("div", {
    class: "samples",
    role: "listbox",
    "aria-label": "Samples",
    "aria-multiselectable": "true",
  });
  #samples: readonly Sample[] = [];
  #cells: HTMLElement[] = [];
  /** The pictures that are shown, which are not loaded again when labels and answers change. */
  #images = new Map<string, HTMLImageElement>();
  readonly #chosen = new Set<number>();
  /** The sample that is looked at, and the one where a range begins. */
  #at = 0;
  #from = 0;

  constructor(private readonly settings: Settings) {
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** The sample that is looked at. */
  get current(): Sample | undefined {
    return this.#samples[this.#at];
  }

  get selection(): readonly Sample[] {
    return [...this.#chosen].sort((a, b) => a - b).map((index) => this.#samples[index]!);
  }

  /** Show samples. Those that were selected stay selected, if they are still there. */
  show(samples: readonly Sample[]): void {
    const chosen = new Set(this.selection.map(idOf));
    const current = this.current && idOf(this.current);
    const hadFocus = this.element.contains(document.activeElement);
    this.#samples = samples;
    this.#images = new Map(
      samples.map((sample) => [
        idOf(sample),
        this.#images.get(idOf(sample)) ?? this.#image(sample),
      ]),
    );
    this.#cells = samples.map((sample, index) => this.#cell(sample, index));
    this.#chosen.clear();
    for (const [index, sample] of samples.entries())
      if (chosen.has(idOf(sample))) this.#chosen.add(index);
    const found = samples.findIndex((sample) => idOf(sample) === current);
    this.#at = found < 0 ? Math.min(this.#at, Math.max(0, samples.length - 1)) : found;
    this.#from = this.#at;
    if (this.#chosen.size === 0 && samples.length) this.#chosen.add(this.#at);
    const empty = h("p", { class: "empty" }, "No sample is like this.");
    this.element.replaceChildren(...(samples.length ? this.#cells : [empty]));
    this.#mark();
    if (hadFocus) this.#cells[this.#at]?.focus({ preventScroll: true });
  }

  /** Look at the first sample of another page. */
  begin(): void {
    this.#chosen.clear();
    this.#at = this.#from = 0;
    this.#samples = [];
    this.element.scrollTop = 0;
  }

  #cell(sample: Sample, index: number): HTMLElement {
    const { action } = this.settings;
    const isDeleted = sample.label === null;
    const label = action(sample.label ?? sample.original);
    const changed = sample.label === sample.original ? null : `was ${action(sample.original)}`;
    const cell = h(
      "div",
      {
        class: `sample ${isDeleted ? "deleted" : ""}`,
        role: "option",
        tabindex: "-1",
        "aria-label": description(sample, action),
        data: { episode: sample.episode, tick: String(sample.tick) },
      },
      this.#images.get(idOf(sample)),
      h("b", {}, label),
      isDeleted ? h("small", {}, "deleted") : changed && h("small", { class: "changed" }, changed),
      answerText(sample, action),
      h("small", { class: "tick" }, `tick ${sample.tick}`),
    );
    cell.addEventListener("click", (event) => {
      if (event.shiftKey) this.#extend(index);
      else if (event.ctrlKey || event.metaKey) this.#toggle(index);
      else this.#choose(index);
      cell.focus();
    });
    return cell;
  }

  /** Make the picture of a sample; of several that are one below the other, it shows the last one, which is the newest. */
  #image(sample: Sample): HTMLImageElement {
    const src = this.settings.picture(sample);
    const image = h("img", { src, alt: "", loading: "lazy", draggable: "false" });
    image.addEventListener("load", () =>
      image.classList.toggle("stacked", image.naturalHeight > image.naturalWidth),
    );
    return image;
  }

  #onKey(event: KeyboardEvent): void {
    const first = this.#cells[0];
    if (!first || event.altKey) return;
    const isMod = event.ctrlKey || event.metaKey;
    if (isMod && event.key === "a") {
      for (const index of this.#cells.keys()) this.#chosen.add(index);
      this.#mark();
    } else if (event.key === " ") {
      this.#toggle(this.#at);
    } else {
      const columns = Math.max(1, Math.round(this.element.clientWidth / (first.offsetWidth + 8)));
      const last = this.#cells.length - 1;
      const targets: Record<string, number> = {
        ArrowRight: this.#at + 1,
        ArrowLeft: this.#at - 1,
        ArrowDown: this.#at + columns,
        ArrowUp: this.#at - columns,
        Home: 0,
        End: last,
      };
      const target = targets[event.key];
      if (target === undefined || isMod) return;
      const to = Math.max(0, Math.min(target, last));
      if (event.shiftKey) this.#extend(to);
      else this.#choose(to);
      this.#cells[to]?.focus();
    }
    event.preventDefault();
  }

  #choose(index: number): void {
    this.#chosen.clear();
    this.#chosen.add(index);
    this.#at = this.#from = index;
    this.#mark();
  }

  #toggle(index: number): void {
    if (!this.#chosen.delete(index)) this.#chosen.add(index);
    this.#at = this.#from = index;
    this.#mark();
  }

  #extend(index: number): void {
    this.#chosen.clear();
    const [low, high] = [Math.min(this.#from, index), Math.max(this.#from, index)];
    for (let each = low; each <= high; each++) this.#chosen.add(each);
    this.#at = index;
    this.#mark();
  }

  #mark(): void {
    for (const [index, cell] of this.#cells.entries()) {
      cell.ariaSelected = String(this.#chosen.has(index));
      cell.tabIndex = index === this.#at ? 0 : -1;
      cell.classList.toggle("current", index === this.#at);
    }
    this.settings.selected();
  }
}

const idOf = ({ episode, tick }: Sample): string => `${episode} ${tick}`;

export const percent = (share: number | null): string => `${Math.round(100 * (share ?? 0))} %`;

function answerText(sample: Sample, action: (number: number) => string): HTMLElement | null {
  if (sample.answer === null) return null;
  const isRight = sample.answer === sample.label;
  return h(
    "small",
    { class: `answer ${isRight ? "agrees" : "differs"}` },
    `${isRight ? "=" : "≠"} ${action(sample.answer)} ${percent(sample.share)}`,
  );
}

/** Describe a sample for screen readers. */
function description(sample: Sample, action: (number: number) => string): string {
  const parts = [
    sample.label === null ? `deleted, was ${action(sample.original)}` : action(sample.label),
    sample.label !== null && sample.label !== sample.original && `was ${action(sample.original)}`,
    sample.answer !== null && `answer ${action(sample.answer)} ${percent(sample.share)}`,
    `tick ${sample.tick}`,
  ];
  return parts.filter(Boolean).join(", ");
}
