/** The dialog of sweeps: what is varied, and the table of the variants, which fills while they play. */

import { api } from "../api";
import type { Editor } from "../editor/editor";
import type { Session } from "../editor/session";
import type { Json } from "../model/json";
import { type Axis, columnsOf, progressText, readValues, type Sweep } from "../model/sweep";
import { button, h } from "./dom";
import { openDialog, showMessage } from "./overlay";

const COLUMNS = ["episodes", "won", "share", "95 % interval", "reward"];
const AXES = 2;

export async function openSweep(editor: Editor, session: Session): Promise<void> {
  try {
    const view = new SweepView(editor, await api.sweep());
    const stop = session.on((what) => what === "sweep" && view.show(session.sweep));
    await openDialog("Sweep", view.elements, [], "wide");
    stop();
  } catch (error) {
    showMessage((error as Error).message, "error");
  }
}

class SweepView {
  readonly #axes: readonly { target: HTMLSelectElement; values: HTMLInputElement }[];
  readonly #states = h("input", { class: "field", value: "validation", spellcheck: "false" });
  readonly #episodes = h("input", { class: "field", type: "number", min: 1, value: "20" });
  readonly #play = button("Play", () => void this.#startOrStop(), "primary");
  readonly #bar = h("progress", { max: "1", "aria-label": "Progress" });
  readonly #words = h("p", { role: "status", class: "grow" });
  readonly #table = h("div", { class: "scroll" });

  constructor(
    private readonly editor: Editor,
    private sweep: Sweep | null,
  ) {
    const targets = targetsOf(editor);
    const chosen = targets.find((target) => target.split(".")[0] === editor.selection[0]);
    this.#axes = Array.from({ length: AXES }, (_, index) => {
      const names = index === 0 ? targets : ["", ...targets];
      const options = names.map((name) => h("option", { value: name }, name || "nothing else"));
      const target = h("select", { class: "field", "aria-label": "Vary" }, ...options);
      if (index === 0 && chosen) target.value = chosen;
      const values = h("input", {
        class: "field grow",
        "aria-label": "Values",
        placeholder: "values, separated by commas",
        spellcheck: "false",
      });
      target.addEventListener("change", () => this.#suggest(target, values));
      this.#suggest(target, values);
      return { target, values };
    });
    this.show(sweep);
  }

  get elements(): readonly HTMLElement[] {
    const labelled = (label: string, field: HTMLElement) =>
      h("label", { class: "stack" }, h("span", { class: "label" }, label), field);
    return [
      ...this.#axes.map(({ target, values }) => h("div", { class: "sweep-axis" }, target, values)),
      h(
        "div",
        { class: "sweep-axis" },
        labelled("States", this.#states),
        labelled("Episodes of each", this.#episodes),
        this.#play,
      ),
      h("div", { class: "sweep-axis" }, this.#words, this.#bar),
      this.#table,
    ];
  }

  show(sweep: Sweep | null): void {
    this.sweep = sweep;
    const isRunning = sweep?.state === "running";
    this.#play.replaceChildren(h("span", {}, isRunning ? "Stop" : "Play"));
    this.#bar.hidden = !isRunning;
    this.#bar.value = sweep === null ? 0 : sweep.done / sweep.total;
    this.#words.textContent = sweep === null ? "" : progressText(sweep);
    this.#table.replaceChildren(...(sweep === null ? [] : [tableOf(sweep)]));
    if (sweep?.files) this.#table.append(pictureOf(sweep.files.png));
  }

  /** Begin with the present value of a widget, or the present brain. */
  #suggest(target: HTMLSelectElement, values: HTMLInputElement): void {
    const [node, widget] = target.value.split(".");
    const entry = node ? this.editor.entry(node) : undefined;
    values.disabled = !entry;
    values.value = "";
    if (!node || !entry) return;
    const type = this.editor.typeOf(node);
    const brain = typeof entry.brain === "string" ? entry.brain : entry.brain?.file;
    const shown = widget ? (entry.set?.[widget] ?? type?.widgets[widget]?.default) : brain;
    if (typeof shown === "string" || typeof shown === "number" || typeof shown === "boolean")
      values.value = String(shown);
  }

  async #startOrStop(): Promise<void> {
    const { workflow, document } = this.editor;
    try {
      if (this.sweep?.state === "running") {
        await api.stopSweep();
        return;
      }
      const axes: Axis[] = [];
      for (const { target, values } of this.#axes)
        if (target.value) axes.push({ target: target.value, values: readValues(values.value) });
      const episodes = Number(this.#episodes.value);
      const states = this.#states.value.trim();
      this.show(await api.startSweep({ workflow, name: document.file, axes, states, episodes }));
    } catch (error) {
      this.#words.textContent = (error as Error).message;
    }
  }
}

/** The widgets of all nodes, and the nodes with brains. */
function targetsOf(editor: Editor): readonly string[] {
  const targets: string[] = [];
  for (const id of Object.keys(editor.workflow.nodes)) {
    const type = editor.typeOf(id);
    if (type?.brain) targets.push(id);
    for (const widget of Object.keys(type?.widgets ?? {})) targets.push(`${id}.${widget}`);
  }
  return targets;
}

const textOf = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));

function tableOf({ axes, variants }: Sweep): HTMLElement {
  const names = [...axes.map(({ target }) => target), ...COLUMNS];
  const rows = variants.map((variant) => {
    const values = axes.map(({ target }) => textOf(variant.values[target]!));
    const cells = [...values, ...columnsOf(variant)];
    return h("tr", {}, ...cells.map((text) => h("td", {}, text)));
  });
  return h(
    "table",
    { class: "sweep-table" },
    h("thead", {}, h("tr", {}, ...names.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );
}

function pictureOf(file: string): HTMLElement {
  const alt = "The share of episodes won by each variant, with its interval";
  return h("img", { class: "sweep-picture", src: api.fileOfSweep(file), alt });
}
