/** The dialog that shows a brain: its header, its parents, its tensors with their distributions. */

import { api, type BrainDescription, type TensorDescription, type TensorHistogram } from "../api";
import { isObject, type Json, type JsonObject } from "../model/json";
import { button, h, icon } from "./dom";
import { openDialog, showMessage } from "./overlay";

const MOST_TENSORS = 500;

/** Open the dialog for a brain, by its name in workflow files. */
export async function openBrain(file: string): Promise<void> {
  const brain = await api.brain(file).catch((error: Error) => error);
  if (brain instanceof Error) {
    showMessage(brain.message, "error");
    return;
  }
  const tensors = brain.tensors.slice(0, MOST_TENSORS);
  const rest = brain.tensors.length - tensors.length;
  await openDialog(
    brain.title ?? file,
    [
      brain.fault ? h("p", { class: "notice bad" }, icon("warn"), brain.fault) : "",
      heading(brain),
      lineage(brain),
      folded("Settings", brain.config),
      folded("Other entries of the header", brain.more),
      h("h3", {}, `Tensors: ${count(brain.tensors)}`),
      tensorTable(file, tensors),
      rest > 0 ? h("p", { class: "muted" }, `${rest} more are not shown.`) : "",
    ],
    [{ name: "Close", value: "", kind: "primary" }],
    "wide",
  );
}

function heading(brain: BrainDescription): HTMLElement {
  const kind = brain.kind === null ? "none" : `${brain.kind}, version ${brain.version}`;
  const facts: readonly (readonly [string, string | HTMLElement | null])[] = [
    ["File", brain.file],
    ["Kind", kind],
    ["Description", brain.description],
    ["Licence", brain.license ?? "not stated"],
    ["Author", brain.author],
    ["Made by", brain.made_by === null ? null : h("code", {}, brain.made_by)],
    ["Metrics", metrics(brain.metrics)],
    ["Used by", brain.used_by.join(", ") || null],
    ["Size", `${brain.size.toLocaleString("en")} bytes`],
    ["Memory", memory(brain.memory)],
    ["SHA-256", h("code", {}, brain.sha256 ?? "still being computed")],
  ];
  const rows = facts.filter(([, value]) => value !== null);
  return h(
    "dl",
    { class: "facts" },
    ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

/** Return what its weights take in memory, which is not the size of the file. */
function memory(sizes: BrainDescription["memory"]): string | null {
  const parts = Object.entries(sizes).map(
    ([type, bytes]) => `${bytes.toLocaleString("en")} bytes in ${type}`,
  );
  return parts.join(", ") || null;
}

function metrics(value: Json): HTMLElement | string | null {
  if (!isObject(value)) return typeof value === "string" ? value : null;
  return Object.entries(value)
    .map(([name, number]) => `${name.replace(/_/g, " ")} ${JSON.stringify(number)}`)
    .join(", ");
}

/** Return the brains that this one came from. Those that are here can be opened. */
function lineage(brain: BrainDescription): HTMLElement {
  const parents = brain.lineage.map((parent) => {
    const { file } = parent;
    if (file === null)
      return h("li", {}, h("code", {}, `${parent.sha256.slice(0, 12)}…`), " is not here");
    const open = button(file, () => {
      open.closest("dialog")?.close();
      void openBrain(file);
    });
    return h("li", {}, open, h("span", { class: "muted" }, parent.title ?? ""));
  });
  return h(
    "section",
    { class: "lineage", "aria-label": "Parents" },
    h("h3", {}, "Parents"),
    parents.length
      ? h("ul", {}, ...parents)
      : h("p", { class: "muted" }, "None: this brain was not derived from another one."),
  );
}

function folded(title: string, values: JsonObject): HTMLElement | string {
  if (!Object.keys(values).length) return "";
  return h(
    "details",
    {},
    h("summary", {}, title),
    h("pre", { class: "value-text" }, JSON.stringify(values, null, 1)),
  );
}

function tensorTable(file: string, tensors: readonly TensorDescription[]): HTMLElement {
  const cells = new Map<Element, string>();
  const rows = tensors.map((tensor) => {
    const cell = h("td", { data: { tensor: tensor.name } });
    cells.set(cell, tensor.name);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, tensor.name),
      h("td", {}, tensor.dtype),
      h("td", {}, tensor.shape.join(" × ") || "one number"),
      cell,
    );
  });
  loadWhenSeen(file, cells);
  const titles = ["Name", "Type", "Shape", "Distribution"];
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "tensors" },
      h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, ...rows),
    ),
  );
}

/** Ask for the distribution of a tensor once its cell is visible, one after another. */
function loadWhenSeen(file: string, cells: ReadonlyMap<Element, string>): void {
  let last: Promise<void> = Promise.resolve();
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      last = last.then(() => load(file, cells.get(target)!, target));
    }
  });
  for (const cell of cells.keys()) observer.observe(cell);
}

async function load(file: string, tensor: string, cell: Element): Promise<void> {
  if (!cell.isConnected) return;
  const found = await api.histogram(file, tensor).catch((error: Error) => error);
  cell.replaceChildren(found instanceof Error ? found.message : histogram(found));
}

function histogram(found: TensorHistogram): HTMLElement {
  const { min, max, mean, std, counts } = found;
  const infinite = found.not_finite ? `, ${found.not_finite} not finite` : "";
  if (min === null || max === null || mean === null || std === null)
    return h("small", {}, `no numbers${infinite}`);
  const read =
    found.read < found.numbers ? `, from ${found.read.toLocaleString("en")} of them` : "";
  const words = `${text(min)} to ${text(max)}, mean ${text(mean)}, deviation ${text(std)}${infinite}${read}`;
  const most = Math.max(...counts);
  const bars = counts.map((n) => h("i", { style: `height: ${(100 * n) / most}%` }));
  return h(
    "div",
    { class: "distribution" },
    h("div", { class: "bars small", "aria-hidden": "true" }, ...bars),
    h("small", {}, words),
  );
}

function count(tensors: readonly TensorDescription[]): string {
  const numbers = tensors.reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  );
  return `${tensors.length}, with ${numbers.toLocaleString("en")} numbers`;
}

const text = (value: number) => (Number.isInteger(value) ? String(value) : value.toPrecision(3));
