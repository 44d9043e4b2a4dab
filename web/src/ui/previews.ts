/** What Preview nodes show when it is not a picture: a text, the points of a number, a pad, probabilities. */

import type { Series, Timeline } from "../api";
import type { Editor } from "../editor/editor";
import type { Run } from "../live/run";
import { hasFrame, isScreen } from "../model/catalog";
import type { Json } from "../model/json";
import { courseAt } from "../model/timeline";
import { type Box, overlap, sources } from "../model/workflow";
import { h } from "./dom";
import { plotView } from "./plot_view";
import { valueView } from "./value_view";

/** Number of points of a points: at most this many deliveries. */
const COURSE = 300;
const MIN_SCALE = 0.25;
const INPUT = "value";

interface Shown {
  readonly element: HTMLElement;
  /** The latest values of a number, by tick of the run. */
  points: Series;
  value: Json | undefined;
  width: number;
  /** The tick of a run that is rewound. */
  tick: number;
}

export class Previews {
  readonly #shown = new Map<string, Shown>();
  #run: string | null = null;

  constructor(
    private readonly layer: HTMLElement,
    private readonly editor: Editor,
  ) {}

  /** Place the views over their nodes, with the values of the run, and the series of one that is rewound. Return the nodes
   * that are visible. */
  update(run: Run | null, series: Timeline["series"]): readonly string[] {
    if (run?.id !== this.#run) this.#clear();
    this.#run = run?.id ?? null;
    const { scale, offset, area } = this.editor.board.view;
    const boxes = new Map(this.editor.board.screens().map(({ id, box }) => [id, box]));
    const wanted = run ? this.nodes.filter((id) => boxes.has(id)) : [];
    for (const id of [...this.#shown.keys()]) if (!wanted.includes(id)) this.#drop(id);
    const visible: string[] = [];
    for (const id of wanted) {
      const box = boxes.get(id)!;
      const shown = this.#shown.get(id) ?? this.#add(id);
      const isVisible = scale >= MIN_SCALE && overlap(box, area);
      shown.element.hidden = !isVisible;
      if (!isVisible) continue;
      visible.push(id);
      place(shown.element, box, scale, offset);
      this.#fill(id, shown, run!, series[`${id}.${INPUT}`] ?? null, box);
    }
    return visible;
  }

  /** The Preview nodes that show something else than a picture. */
  get nodes(): readonly string[] {
    const { editor } = this;
    return Object.entries(editor.workflow.nodes).flatMap(([id, entry]) => {
      const type = editor.typeOf(id);
      if (!type || type.register || !isScreen(type)) return [];
      const source = sources(entry, INPUT)[0];
      if (!source) return [];
      const output = editor.typeOf(source.node)?.outputs[source.socket];
      const label = this.#labelOf(id);
      return (output && hasFrame(output)) || label === "frame" || label === null ? [] : [id];
    });
  }

  /** Return the label of the type of what a Preview is linked to; null if the server has not said it yet. */
  #labelOf(id: string): string | null {
    const source = sources(this.editor.entry(id)!, INPUT)[0];
    if (!source) return null;
    const type = this.editor.linking.outputs[`${source.node}.${source.socket}`];
    return type?.split(" ")[0] ?? null;
  }

  #fill(id: string, shown: Shown, run: Run, points: Series | null, [, , width, height]: Box): void {
    const value = run.inputs.get(`${id}.${INPUT}`);
    const last = shown.points.at(-1)?.[0] ?? -1;
    if (points !== null) {
      if (run.ticks === shown.tick && value === shown.value && width === shown.width) return;
      shown.points = courseAt(points, run.ticks, COURSE);
    } else if (typeof value === "number" && (run.ticks > last || value !== shown.value)) {
      const before = run.ticks > last ? shown.points : shown.points.slice(0, -1);
      shown.points = [...before, [run.ticks, value] as const].slice(-COURSE);
    } else if (value === shown.value && width === shown.width) return;
    shown.value = value;
    shown.width = width;
    shown.tick = points === null ? -1 : run.ticks;
    const label = this.#labelOf(id) ?? "";
    let view: HTMLElement;
    if (value === undefined) view = h("p", { class: "muted" }, "Nothing was delivered yet.");
    else if (label === "number" && shown.points.length > 0)
      view = plotView(shown.points, width, height);
    else view = valueView(value, label);
    shown.element.replaceChildren(view);
  }

  #add(id: string): Shown {
    const element = h("div", {
      class: "preview",
      role: "region",
      tabindex: "0",
      "aria-label": `The value of ${id}`,
      data: { preview: id },
    });
    this.layer.append(element);
    const shown: Shown = { element, points: [], value: null, width: 0, tick: -1 };
    this.#shown.set(id, shown);
    return shown;
  }

  #drop(id: string): void {
    this.#shown.get(id)?.element.remove();
    this.#shown.delete(id);
  }

  #clear(): void {
    for (const id of [...this.#shown.keys()]) this.#drop(id);
  }
}

function place(
  { style }: HTMLElement,
  [x, y, width, height]: Box,
  scale: number,
  [left, top]: readonly [number, number],
): void {
  style.width = `${width}px`;
  style.height = `${height}px`;
  style.transform = `translate(${(x + left) * scale}px, ${(y + top) * scale}px) scale(${scale})`;
}
