/** The runs in the panel on the left: those that wait or run, and earlier ones, with what became of them. */

import { durationText, type RunFacts, timeText } from "../live/run_facts";
import { h, iconButton } from "./dom";
import { openMenu } from "./overlay";
import { openRun } from "./run_view";

export interface RunActions {
  show(run: RunFacts): void;
  openWorkflow(run: RunFacts): void;
  /** Download it with brains and tape. */
  share(run: RunFacts): void;
  rewind(run: RunFacts): void;
  /** Whether a run is rewound, beside which another one can be shown. */
  canCompare(): boolean;
  compare(run: RunFacts): void;
  forget(run: RunFacts): void;
  stop(run: RunFacts): void;
  takeOut(run: RunFacts): void;
}

type Rows = Map<string, { row: HTMLElement; text: string; facts: string }>;

export class RunList {
  readonly #search = h("input", {
    class: "field",
    type: "search",
    placeholder: "Filter",
    "aria-label": "Filter runs",
  });
  readonly #now = h("section", {}, h("h3", {}, "Now"));
  readonly #earlier = h("section", {}, h("h3", {}, "Earlier"));
  readonly #none = h("p", { class: "empty", hidden: true }, "No run of this name.");
  /** The texts by which rows are found. */
  readonly #texts = new Map<HTMLElement, string>();
  /** The rows by run, and what they show: a row that is drawn anew while it is pressed would lose the click. */
  #rows: Rows = new Map();

  constructor(private readonly actions: RunActions) {
    this.#search.addEventListener("input", () => this.#filter());
  }

  get elements(): readonly HTMLElement[] {
    return [this.#search, this.#now, this.#earlier, this.#none];
  }

  /** Show these runs; `shown` is the id of the one on the page. */
  update(
    current: readonly RunFacts[],
    earlier: readonly RunFacts[],
    shown: string | undefined,
  ): void {
    const focused = document.activeElement;
    const id = focused?.closest<HTMLElement>(".run-row")?.dataset.row;
    const label = focused?.getAttribute("aria-label");
    const before = this.#rows;
    this.#rows = new Map();
    this.#texts.clear();
    const fill = (section: HTMLElement, runs: readonly RunFacts[], empty: string) => {
      const rows = runs.map((run) => this.#rowOf(run, run.id === shown, before));
      const [heading, ...old] = section.children;
      const isSame = rows.length === old.length && old.every((each, i) => each === rows[i]);
      if (isSame && rows.length > 0) return;
      section.replaceChildren(
        heading!,
        ...(rows.length ? rows : [h("p", { class: "empty" }, empty)]),
      );
    };
    fill(this.#now, current, "Nothing is running.");
    fill(this.#earlier, earlier, "No runs yet.");
    this.#filter();
    const row = [...this.#texts.keys()].find(({ dataset }) => dataset.row === id);
    const again = row?.querySelector<HTMLElement>(label ? "[aria-label]" : "[data-run]");
    again?.focus();
  }

  /** Return the row of a run: the one from before, if it shows the same. */
  #rowOf(run: RunFacts, isShown: boolean, before: Rows): HTMLElement {
    const facts = JSON.stringify([run, isShown]);
    const known = before.get(run.id);
    if (known?.facts === facts) {
      this.#rows.set(run.id, known);
      this.#texts.set(known.row, known.text);
      return known.row;
    }
    const row = this.#row(run, isShown);
    this.#rows.set(run.id, { row, text: this.#texts.get(row) ?? "", facts });
    return row;
  }

  #filter(): void {
    const words = this.#search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const [row, text] of this.#texts) {
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) found += 1;
    }
    this.#none.hidden = found > 0 || this.#texts.size === 0;
  }

  #row(run: RunFacts, isShown: boolean): HTMLElement {
    const facts = [
      run.isRewound ? "rewound" : run.state,
      run.forkedAt === null ? "" : `a fork from tick ${run.forkedAt}`,
      run.seed === null ? "" : `seed ${run.seed}`,
      run.started === null ? "" : timeText(run.started),
      run.seconds === null ? "" : durationText(run.seconds),
      run.score === null ? "" : `score ${Math.round(run.score * 100) / 100}`,
    ];
    const line = facts.filter(Boolean).join(", ");
    const row = h(
      "div",
      { class: `item-row run-row ${isShown ? "current" : ""}`, data: { row: run.id } },
      h(
        "button",
        {
          type: "button",
          class: "item",
          title: run.title,
          data: { run: run.id, state: run.state },
          onclick: () => this.actions.show(run),
        },
        h("i", { class: `state ${run.state}`, "aria-hidden": "true" }),
        h(
          "span",
          { class: "grow" },
          run.title,
          h("small", {}, line),
          run.reason ? h("small", { class: "reason" }, run.reason) : null,
        ),
        run.picture ? picture(run.picture) : null,
      ),
      ...this.#tools(run),
    );
    const game = typeof run.result.game === "string" ? run.result.game : "";
    this.#texts.set(row, [run.title, line, run.reason ?? "", game].join(" ").toLowerCase());
    return row;
  }

  #tools(run: RunFacts): HTMLElement[] {
    const { actions } = this;
    if (run.state === "running")
      return [iconButton("stop", "Stop", () => actions.stop(run), { class: "small" })];
    if (run.state === "queued") {
      const label = "Take out of the queue";
      return [iconButton("close", label, () => actions.takeOut(run), { class: "small" })];
    }
    const more = iconButton(
      "more",
      `More for ${run.title}`,
      () => {
        const { left, top, width, height } = more.getBoundingClientRect();
        const comparison = { name: "Show beside the other", run: () => actions.compare(run) };
        const rewind = { name: "Rewind", run: () => actions.rewind(run) };
        const share = { name: "Download with brains and tape", run: () => actions.share(run) };
        openMenu(
          [
            ...(run.isRecorded ? [rewind] : []),
            ...(run.isRecorded && actions.canCompare() ? [comparison] : []),
            { name: "Results and files", run: () => void openRun(run, actions.openWorkflow) },
            { name: "Open its workflow", run: () => actions.openWorkflow(run) },
            ...(run.isRecorded ? [share] : []),
            { name: "Forget", danger: true, run: () => actions.forget(run) },
          ],
          [left, top, width, height],
        );
      },
      { class: "small" },
    );
    return [more];
  }
}

function picture(address: string): HTMLElement {
  return h("img", { class: "run-picture", src: address, alt: "", loading: "lazy" });
}
