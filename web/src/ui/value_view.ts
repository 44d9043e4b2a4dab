/** A value on a link in full: text, numbers, flags, and probabilities as bars. */

import { isObject, type Json, type JsonObject } from "../model/json";
import { h } from "./dom";

/** Most probabilities that stand in their own order. */
const FEW = 8;

/** Return an element that shows a value. `label` is the label of its type, such as "text" or "logits". Many probabilities begin
 * with the greatest. */
export function valueView(value: Json, label: string): HTMLElement {
  if (typeof value === "string") return textView(value);
  if (!isObject(value)) return h("span", { class: "value-plain" }, String(value));
  if (Array.isArray(value.entries)) {
    const shares = label === "probabilities" ? sharesOf(value.entries) : null;
    return shares ? sharesView(shares) : entriesView(value, value.entries);
  }
  if (Array.isArray(value.items)) {
    if (label === "pad") return padView(value.items.map(String));
    return itemsView(value, value.items);
  }
  if (isNumber(value.number ?? null) && typeof value.name === "string")
    return h("span", { class: "value-plain" }, `${value.number}  ${value.name}`);
  const numbers = Array.isArray(value.numbers) ? value.numbers : [];
  const names = Array.isArray(value.names) ? value.names.map(String) : [];
  const type = h("small", {}, String(value.type ?? ""));
  if (numbers.length === 0) return type;
  if (label === "logits" && numbers.every(isNumber))
    return h("div", { class: "stack" }, type, sharesView(softmax(numbers, names)));
  return h(
    "div",
    { class: "stack" },
    type,
    h("span", { class: "value-plain" }, numbers.map(numberText).join("  ")),
  );
}

function textView(text: string): HTMLElement {
  if (text === "") return h("span", { class: "value-plain muted" }, "(empty text)");
  return h("pre", { class: "value-text" }, text);
}

function entriesView(value: JsonObject, entries: readonly Json[]): HTMLElement {
  const rows = entries.filter(isEntry).flatMap(([name, entry]) => {
    return [h("dt", {}, name), h("dd", {}, valueView(entry, ""))];
  });
  return h("div", { class: "stack" }, h("dl", { class: "facts" }, ...rows), moreView(value));
}

function itemsView(value: JsonObject, items: readonly Json[]): HTMLElement {
  if (items.length === 0) return h("span", { class: "value-plain muted" }, "nothing");
  if (items.every((item) => !isObject(item)))
    return h("span", { class: "value-plain" }, items.map(numberText).join(", "));
  const rows = items.map((item) => h("li", {}, valueView(item, "")));
  return h("div", { class: "stack" }, h("ol", {}, ...rows), moreView(value));
}

/** The buttons of a Mega Drive pad. Those of other consoles are added while they are down. */
const BUTTONS = ["UP", "DOWN", "LEFT", "RIGHT", "A", "B", "C", "X", "Y", "Z", "START", "MODE"];

/** Show all buttons of a pad, and which of them are down. */
function padView(down: readonly string[]): HTMLElement {
  const buttons = [...new Set([...BUTTONS, ...down])].map((name) => {
    const isDown = down.includes(name);
    return h("li", { class: isDown ? "down" : "" }, name);
  });
  const words = down.length ? `down: ${down.join(", ")}` : "no button is down";
  return h("div", { class: "stack" }, h("ul", { class: "pad" }, ...buttons), h("small", {}, words));
}

const moreView = (value: JsonObject) =>
  value.more === true ? h("small", {}, "The rest is not shown.") : null;

interface Share {
  readonly name: string;
  readonly share: number;
  readonly detail: string;
}

/** Return the probabilities in the entries of a mapping; null if they are something else. */
function sharesOf(entries: readonly Json[]): readonly Share[] | null {
  const shares = entries.filter(isEntry).map(([name, share]) => ({ name, share, detail: "" }));
  return shares.every(isShare) ? shares : null;
}

const isShare = (entry: { share: Json }): entry is Share => isNumber(entry.share);

function softmax(logits: readonly number[], names: readonly string[]): readonly Share[] {
  const most = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return logits.map((logit, i) => ({
    name: names[i] === undefined ? String(i) : `${i} ${names[i]}`,
    share: weights[i]! / total,
    detail: `logit ${numberText(logit)}`,
  }));
}

function sharesView(shares: readonly Share[]): HTMLElement {
  const most = Math.max(...shares.map(({ share }) => share));
  const shown = [...shares];
  if (shares.length > FEW) shown.sort((one, other) => other.share - one.share);
  const rows = shown.map(({ name, share, detail }) =>
    h(
      "li",
      { class: share === most ? "best" : "", title: detail },
      h("span", { class: "share-name" }, name),
      h("span", { class: "share-bar" }, h("i", { style: `width: ${100 * share}%` })),
      h("span", { class: "share-percent" }, `${(100 * share).toFixed(1)} %`),
    ),
  );
  return h("ol", { class: "shares" }, ...rows);
}

const isNumber = (value: Json): value is number => typeof value === "number";

const isEntry = (value: Json): value is readonly [string, Json] =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === "string";

function numberText(value: Json): string {
  if (!isNumber(value) || Number.isInteger(value)) return String(value);
  return value.toPrecision(4);
}
