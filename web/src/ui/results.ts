/** The dialog with the results of a run: figures, episodes, messages. */

import type { Run } from "../live/run";
import { isObject, type Json, type JsonObject } from "../model/json";
import { h } from "./dom";
import { openDialog } from "./overlay";

const EPISODES = 200;

export function openResults(run: Run): void {
  const result = run.result ?? {};
  const facts = Object.entries(result).filter(
    ([, value]) => ["string", "number", "boolean"].includes(typeof value) && value !== "",
  );
  const episodes = (Array.isArray(result.episodes) ? result.episodes : [])
    .filter(isObject)
    .slice(0, EPISODES);
  void openDialog(
    "Results",
    [
      run.error ? h("p", { class: "notice bad" }, run.error) : "",
      facts.length
        ? h(
            "dl",
            { class: "facts" },
            ...facts.flatMap(([name, value]) => [
              h("dt", {}, title(name)),
              h("dd", {}, text(value)),
            ]),
          )
        : h("p", { class: "muted" }, run.error ? "" : "Results appear when the run ends."),
      episodes.length ? episodeTable(episodes) : "",
      run.messages.length ? h("pre", { class: "doc" }, run.messages.join("\n")) : "",
    ],
    [{ name: "Close", value: "", kind: "primary" }],
    "wide",
  );
}

export function episodeTable(rows: readonly JsonObject[]): HTMLElement {
  const plain = (value: Json | undefined) =>
    value !== undefined && !isObject(value) && !Array.isArray(value);
  const columns = Object.keys(rows[0]!).filter((key) =>
    rows.every((row) => plain(row[key]) && String(row[key]).length < 24),
  );
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, title(name))))),
      h(
        "tbody",
        {},
        ...rows.map((row) => h("tr", {}, ...columns.map((name) => h("td", {}, text(row[name]!))))),
      ),
    ),
  );
}

const title = (name: string) => name.replace(/_/g, " ");

function text(value: Json): string {
  if (value === null) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) || Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(4);
}
