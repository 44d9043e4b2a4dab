/** The dialog of a data set: its samples as pictures, filters, corrections, and the answers of a brain. */

import { api } from "../api";
import type { Session } from "../editor/session";
import {
  ALL_SAMPLES,
  type Asking,
  askingText,
  type BrainChoice,
  type Corrections,
  corrections,
  type DataSetOverview,
  type Sample,
  type SampleFilter,
  takesQuestion,
} from "../model/samples";
import { button, h, iconButton } from "./dom";
import { showMessage } from "./overlay";
import { SampleDetails } from "./sample_details";
import { SampleGrid } from "./sample_grid";

const PAGE = 60;
/** The least time between two looks at the answers while a brain is being asked. */
const LOOK_MS = 1500;
const MOST_UNDO = 100;

export async function openDataSet(name: string, session: Session): Promise<void> {
  try {
    const [overview, brains, asking] = await Promise.all([
      api.dataSet(name),
      api.brainsFor(name),
      api.asking(name),
    ]);
    const view = new DataSetView(overview, brains, asking);
    const stop = session.on((what) => {
      if (what === "data") void view.refresh();
      if (what === "asking" && session.asking) view.follow(session.asking);
    });
    view.open(stop);
  } catch (error) {
    showMessage((error as Error).message, "error");
  }
}

class DataSetView {
  readonly #name: string;
  readonly #element: HTMLDialogElement;
  readonly #grid: SampleGrid;
  readonly #details: SampleDetails;
  readonly #heading = h("small", { class: "muted" });
  readonly #pages = h("div", { class: "data-pages" });
  readonly #filters = h("div", { class: "data-filters", role: "group", "aria-label": "Filters" });
  readonly #status = h("p", { role: "status", class: "grow" });
  readonly #undo = button("Undo", () => this.#takeBack(), "quiet", "undo");
  readonly #brain = h("select", { class: "field", "aria-label": "Brain" });
  readonly #question = h("input", {
    class: "field",
    type: "text",
    "aria-label": "Question",
    placeholder: "the question that it is asked in play",
    spellcheck: "false",
  });
  readonly #ask = button("Ask", () => void this.#startOrStop(), "primary");
  readonly #bar = h("progress", { max: "1", "aria-label": "Progress" });
  readonly #progress = h("small", { class: "data-progress", role: "status" });
  #filter: SampleFilter = ALL_SAMPLES;
  #offset = 0;
  #total = 0;
  /** The corrections that take back what was done here, the last one at the end. */
  readonly #done: { text: string; back: Corrections }[] = [];
  /** Ends with the answer to the last corrections that were sent. */
  #lastSent: Promise<void> = Promise.resolve();
  /** Number of corrections that were not answered yet. */
  #unsent = 0;
  /** The labels of samples that were corrected since they were loaded. */
  #newest: Corrections = {};
  #requests = 0;
  #nextLook: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private overview: DataSetOverview,
    private readonly brains: readonly BrainChoice[],
    private asking: Asking | null,
  ) {
    this.#name = overview.name;
    const picture = (sample: Sample) => api.samplePicture(this.#name, sample);
    this.#details = new SampleDetails({
      picture,
      moment: (sample) => api.moment(this.#name, sample),
      label: (action) => this.#correct("corrected", () => action),
      remove: () => this.#correct("deleted", () => null),
      restore: () => this.#correct("restored", ({ original }) => original),
    });
    this.#grid = new SampleGrid({
      picture,
      action: (number) => this.overview.actions[number]!,
      selected: () => this.#renderDetails(),
    });
    this.#element = h(
      "dialog",
      { class: "dialog data-view", tabindex: "-1", "aria-label": `Data set ${this.#name}` },
      h(
        "header",
        {},
        h("div", { class: "grow" }, h("h2", {}, this.#name), this.#heading),
        iconButton("close", "Close", () => this.#element.close()),
      ),
      h("div", { class: "data-tools" }, this.#filters, this.#brainTools()),
      h("div", { class: "data-body" }, this.#grid.element, this.#details.element),
      h("footer", {}, this.#pages, this.#status, this.#undo),
    );
    this.#element.addEventListener("keydown", (event) => this.#onKey(event));
  }

  open(onclose: () => void): void {
    this.#element.addEventListener("close", () => {
      onclose();
      if (this.#nextLook !== null) clearTimeout(this.#nextLook);
      this.#element.remove();
    });
    document.body.append(this.#element);
    this.#element.showModal();
    this.#element.focus();
    this.#render();
    void this.#load();
  }

  /** Show what has changed. */
  async refresh(): Promise<void> {
    try {
      this.overview = await api.dataSet(this.#name);
    } catch (error) {
      this.#showStatus((error as Error).message);
      return;
    }
    this.#render();
    await this.#load();
  }

  /** Show how far a brain was asked. */
  follow(asking: Asking): void {
    if (asking.data !== this.#name) return;
    this.asking = asking;
    this.#renderAsking();
    if (asking.state !== "running") void this.refresh();
    else if (this.#nextLook === null)
      this.#nextLook = setTimeout(() => {
        this.#nextLook = null;
        void this.refresh();
      }, LOOK_MS);
  }

  // samples

  async #load(): Promise<void> {
    // answers may arrive out of order: only that to the latest request is shown
    const request = ++this.#requests;
    this.#grid.element.ariaBusy = "true";
    const page = await api
      .samples(this.#name, this.#filter, this.#offset, PAGE)
      .catch((error: Error) => error);
    if (request !== this.#requests) return;
    if (this.#unsent > 0) return; // they are loaded again after the last correction
    this.#grid.element.ariaBusy = "false";
    if (page instanceof Error) {
      this.#showStatus(page.message);
      return;
    }
    if (page.samples.length === 0 && this.#offset > 0) {
      this.#offset = Math.max(0, PAGE * (Math.ceil(page.total / PAGE) - 1));
      await this.#load();
      return;
    }
    this.#newest = {};
    this.#total = page.total;
    this.#renderPages();
    this.#grid.show(page.samples);
  }

  #choose(filter: Partial<SampleFilter>): void {
    this.#filter = { ...this.#filter, ...filter };
    this.#turn(0);
    this.#render();
  }

  #turn(offset: number): void {
    this.#offset = offset;
    this.#grid.begin();
    void this.#load();
  }

  // corrections

  #correct(word: string, label: (sample: Sample) => number | null): void {
    const changed = this.#grid.selection.filter(
      (sample) => label(sample) !== this.#newestLabel(sample),
    );
    if (changed.length === 0) return;
    const samples = changed.length === 1 ? "1 sample" : `${changed.length} samples`;
    const step = {
      text: `${samples} ${word}`,
      back: corrections(changed, (sample) => this.#newestLabel(sample)),
    };
    this.#done.push(step);
    this.#done.splice(0, this.#done.length - MOST_UNDO);
    this.#renderUndo();
    this.#send(corrections(changed, label), `${step.text}.`, () => {
      const place = this.#done.indexOf(step);
      if (place >= 0) this.#done.splice(place, 1);
    });
  }

  #takeBack(): void {
    const last = this.#done.pop();
    if (!last) return;
    this.#renderUndo();
    this.#send(last.back, `Undone: ${last.text}.`, () => this.#done.push(last));
  }

  /** Send corrections after those before them, however fast somebody is. */
  #send(changes: Corrections, text: string, onFault: () => void): void {
    for (const [episode, labels] of Object.entries(changes))
      this.#newest[episode] = { ...this.#newest[episode], ...labels };
    this.#unsent += 1;
    this.#lastSent = this.#lastSent.then(async () => {
      try {
        await api.correct(this.#name, changes);
        this.#showStatus(text);
      } catch (error) {
        onFault();
        this.#renderUndo();
        this.#showFault((error as Error).message);
      }
      this.#unsent -= 1;
      if (this.#unsent === 0) void this.refresh();
    });
  }

  #newestLabel(sample: Sample): number | null {
    const label = this.#newest[sample.episode]?.[sample.tick];
    return label === undefined ? sample.label : label;
  }

  #onKey(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement;
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !isTyping) this.#takeBack();
    else if (/^(Delete|Backspace)$/.test(event.key) && this.#isInGrid(event.target))
      this.#correct("deleted", () => null);
    else return;
    event.preventDefault();
  }

  #isInGrid(target: EventTarget | null): boolean {
    return target instanceof Node && this.#grid.element.contains(target);
  }

  // asking

  #brainTools(): HTMLElement {
    for (const { file, title, fault } of this.brains) {
      const name = file.replace(/\.safetensors$/, "");
      const text = fault === null ? name : `${name}: ${fault}`;
      this.#brain.append(
        h("option", { value: file, disabled: fault !== null, title: title ?? file }, text),
      );
    }
    const first = this.brains.find(({ fault }) => fault === null);
    this.#brain.value = this.asking?.brain ?? first?.file ?? "";
    this.#brain.disabled = first === undefined;
    this.#brain.addEventListener("change", () => this.#suggestQuestion());
    this.#question.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.#ask.dataset.does === "ask") void this.#startOrStop();
    });
    this.#suggestQuestion();
    if (this.asking?.question) this.#question.value = this.asking.question;
    return h(
      "div",
      { class: "data-asking", role: "group", "aria-label": "Answers of a brain" },
      this.#brain,
      this.#question,
      this.#ask,
      this.#bar,
      this.#progress,
    );
  }

  #suggestQuestion(): void {
    const brain = this.brains.find(({ file }) => file === this.#brain.value);
    this.#question.hidden = brain === undefined || !takesQuestion(brain.kind);
    this.#question.value = brain?.questions[0] ?? "";
  }

  async #startOrStop(): Promise<void> {
    try {
      if (this.asking?.state === "running") await api.stopAsking(this.#name);
      else {
        const question = this.#question.hidden ? "" : this.#question.value;
        const episode = this.#filter.episode || null;
        this.follow(await api.ask(this.#name, this.#brain.value, question, episode));
      }
    } catch (error) {
      this.#showStatus((error as Error).message);
    }
  }

  // drawing

  #render(): void {
    const { game, count, samples, corrected, deleted } = this.overview;
    const number = (value: number) => value.toLocaleString("en");
    const changes = corrected || deleted ? `, ${corrected} corrected, ${deleted} deleted` : "";
    this.#heading.textContent = `${game ?? ""}: ${number(count)} episodes, ${number(samples)} samples${changes}`;
    this.#renderFilters();
    this.#renderAsking();
    this.#renderUndo();
  }

  #renderFilters(): void {
    const { actions, labels, episodes, asked } = this.overview;
    const filter = this.#filter;
    const held = (document.activeElement as HTMLElement | null)?.getAttribute("aria-label");
    const labelOptions = actions
      .map((name, action) => [String(action), `${name} (${labels[action]})`] as const)
      .filter(([action]) => labels[Number(action)] || action === filter.label);
    const episodeOptions = episodes.map(
      ({ episode, state, outcome, samples }, index) =>
        [episode, `${index + 1}: ${state}, ${outcome} (${samples})`] as const,
    );
    const fields = [
      select("Label", [["", "All labels"], ...labelOptions], filter.label, (label) =>
        this.#choose({ label }),
      ),
      select("Episode", [["", "All episodes"], ...episodeOptions], filter.episode, (episode) =>
        this.#choose({ episode }),
      ),
      select("Effect", EFFECTS, filter.actionable, (actionable) => this.#choose({ actionable })),
      select("Corrections", KEPT, filter.kept, (kept) => this.#choose({ kept })),
      select("Answer", ANSWERS, filter.answer, (answer) => this.#choose({ answer })),
      select("Order", ORDERS, filter.order, (order) => this.#choose({ order })),
    ];
    for (const field of fields.slice(4)) field.disabled = asked === 0;
    this.#filters.replaceChildren(...fields);
    fields.find((field) => field.getAttribute("aria-label") === held)?.focus();
  }

  #renderAsking(): void {
    const { asking } = this;
    const isRunning = asking?.state === "running";
    const where = this.#filter.episode ? "Ask about this episode" : "Ask about all";
    this.#ask.lastElementChild!.textContent = isRunning ? "Stop" : where;
    this.#ask.dataset.does = isRunning ? "stop" : "ask";
    this.#ask.disabled = !isRunning && this.#brain.value === "";
    this.#bar.hidden = !isRunning;
    this.#bar.value = asking?.total ? asking.done / asking.total : 0;
    const none = this.#brain.disabled ? "No brain here chooses among these actions." : "";
    this.#progress.textContent = asking === null ? none : askingText(asking, this.overview);
    this.#progress.classList.toggle("bad", asking?.error !== null && asking !== null);
  }

  #renderPages(): void {
    const last = Math.min(this.#offset + PAGE, this.#total);
    const range = this.#total ? `${this.#offset + 1} to ${last} of ` : "";
    const back = iconButton("left", "Previous page", () => this.#turn(this.#offset - PAGE));
    const on = iconButton("right", "Next page", () => this.#turn(this.#offset + PAGE));
    back.disabled = this.#offset === 0;
    on.disabled = last >= this.#total;
    const text = `${range}${this.#total.toLocaleString("en")} samples`;
    this.#pages.replaceChildren(back, h("span", {}, text), on);
  }

  #renderDetails(): void {
    const question = this.asking?.question ?? "";
    this.#details.show(this.overview, this.#grid.current, this.#grid.selection, question);
  }

  #renderUndo(): void {
    this.#undo.disabled = this.#done.length === 0;
  }

  #showFault(text: string): void {
    if (this.#element.isConnected) this.#showStatus(text);
    else showMessage(text, "error");
  }

  #showStatus(text: string): void {
    this.#status.textContent = text;
  }
}

type Options<Value extends string> = readonly (readonly [Value, string])[];

const EFFECTS: Options<SampleFilter["actionable"]> = [
  ["", "With and without effect"],
  ["true", "An action has an effect"],
  ["false", "No action has an effect"],
];
const KEPT: Options<SampleFilter["kept"]> = [
  ["kept", "Not deleted"],
  ["corrected", "Corrected"],
  ["deleted", "Deleted"],
];
const ANSWERS: Options<SampleFilter["answer"]> = [
  ["any", "Any answer"],
  ["differs", "Answer differs"],
  ["agrees", "Answer agrees"],
];
const ORDERS: Options<SampleFilter["order"]> = [
  ["time", "In the order of play"],
  ["share", "Most confident answers first"],
];

function select<Value extends string>(
  name: string,
  options: Options<Value>,
  value: Value,
  change: (value: Value) => void,
): HTMLSelectElement {
  const element = h("select", { class: "field", "aria-label": name });
  for (const [key, text] of options)
    element.append(h("option", { value: key, selected: key === value }, text));
  element.addEventListener("change", () => change(element.value as Value));
  return element;
}
