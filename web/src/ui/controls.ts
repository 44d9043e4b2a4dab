/** Form controls for values, made from the JSON Schema of a widget. */

import { isObject, type Json, type JsonObject, same } from "../model/json";
import { h } from "./dom";
import { showMessage } from "./overlay";

export type OnChange = (value: Json, isFinal: boolean) => void;

/** Return a control. `change` is called with each value, the last of a gesture being final; `empty` if a number is removed. */
export function control(
  schema: JsonObject,
  value: Json | undefined,
  label: string,
  change: OnChange,
  empty?: (isFinal: boolean) => void,
): HTMLElement {
  const shared = { "aria-label": label, class: "field" };
  if (Array.isArray(schema.enum)) return choice(schema.enum, value, shared, change);
  if (schema.type === "boolean") {
    return h("input", {
      type: "checkbox",
      role: "switch",
      "aria-label": label,
      class: "switch",
      checked: value === true,
      onchange: (event: Event) => change((event.target as HTMLInputElement).checked, true),
    });
  }
  if (schema.type === "integer" || schema.type === "number")
    return numberField(schema, value, shared, change, empty);
  if (schema.type === "string")
    return textField(typeof value === "string" ? value : "", shared, change);
  if (isTextOrTexts(schema)) return textsField(schema, value, shared, change);
  return jsonField(value, shared, change);
}

type Shared = { "aria-label": string; class: string };

function choice(
  options: readonly Json[],
  value: Json | undefined,
  shared: Shared,
  change: OnChange,
): HTMLElement {
  const select = h("select", shared);
  for (const [i, option] of options.entries()) {
    select.append(h("option", { value: String(i), selected: same(option, value) }, String(option)));
  }
  if (!options.some((option) => same(option, value))) {
    select.prepend(
      h(
        "option",
        { value: "", selected: true, disabled: true },
        value === undefined ? "choose" : `${JSON.stringify(value)} (unknown)`,
      ),
    );
  }
  select.addEventListener("change", () => change(options[Number(select.value)]!, true));
  return select;
}

function numberField(
  schema: JsonObject,
  value: Json | undefined,
  shared: Shared,
  change: OnChange,
  empty?: (isFinal: boolean) => void,
): HTMLElement {
  const isInteger = schema.type === "integer";
  const { minimum: min, maximum: max } = schema;
  const input = h("input", {
    ...shared,
    type: "number",
    inputmode: isInteger ? "numeric" : "decimal",
    step: isInteger ? "1" : "any",
    min,
    max,
    value: typeof value === "number" ? String(value) : "",
  });
  let taken = input.value; // what it was before somebody began to type
  const expected = `${isInteger ? "a whole number" : "a number"}${range(min, max)}`;
  const read = (isFinal: boolean) => {
    const number = input.valueAsNumber;
    const isEmpty = empty !== undefined && input.value === "" && !input.validity.badInput;
    const isValid =
      isEmpty ||
      (Number.isFinite(number) && input.validity.valid && (!isInteger || Number.isInteger(number)));
    input.classList.toggle("wrong", !isValid);
    input.title = isValid ? "" : expected;
    if (isValid && isFinal) taken = input.value;
    if (isEmpty) empty(isFinal);
    else if (isValid) change(number, isFinal);
    else if (isFinal) refuse();
  };
  const refuse = () => {
    const now = taken === "" ? "empty" : taken;
    showMessage(`${shared["aria-label"]} must be ${expected}. It stays ${now}.`, "error");
    input.value = taken;
    input.classList.remove("wrong");
    input.title = "";
    if (taken === "") empty?.(true);
    else change(Number(taken), true); // the first digits of what was typed may have been valid
  };
  input.addEventListener("input", () => read(false));
  input.addEventListener("change", () => read(true));
  return input;
}

export function range(min: Json | undefined, max: Json | undefined): string {
  if (typeof min === "number" && typeof max === "number") return ` from ${min} to ${max}`;
  if (typeof min === "number") return ` from ${min}`;
  return typeof max === "number" ? ` up to ${max}` : "";
}

/** A field for several lines. `change` is called while a person types, and `end` when they are done. */
export function textArea(
  text: string,
  attributes: Record<string, string>,
  change: (text: string) => void,
  end: () => void,
): HTMLTextAreaElement {
  const area = h("textarea", { class: "field", ...attributes });
  area.value = text;
  area.addEventListener("input", () => change(area.value));
  area.addEventListener("change", end);
  return area;
}

export function textField(
  value: string,
  shared: Shared,
  change: (value: string, isFinal: boolean) => void,
): HTMLInputElement {
  const input = h("input", {
    ...shared,
    type: "text",
    value,
    spellcheck: "false",
    autocomplete: "off",
  });
  input.addEventListener("input", () => change(input.value, false));
  input.addEventListener("change", () => change(input.value, true));
  return input;
}

const ofTexts = (schema: JsonObject) =>
  schema.type === "array" && isObject(schema.items) && schema.items.type === "string";

function isTextOrTexts(schema: JsonObject): boolean {
  if (ofTexts(schema)) return true;
  const options = Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject) : [];
  return (
    options.length === 2 &&
    options.some((option) => option.type === "string") &&
    options.some(ofTexts)
  );
}

/** Return a field for comma-separated texts. If the schema permits a single text, one text is not made a list. */
function textsField(
  schema: JsonObject,
  value: Json | undefined,
  shared: Shared,
  change: OnChange,
): HTMLElement {
  const given = typeof value === "string" ? [value] : value;
  const texts = Array.isArray(given) ? given.map(String) : [];
  const input = textField(texts.join(", "), shared, (text, isFinal) => {
    const parts = text
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
    change(!ofTexts(schema) && parts.length <= 1 ? (parts[0] ?? "") : parts, isFinal);
  });
  input.placeholder = "none; several with commas";
  return input;
}

/** Return a field for any other value, as JSON. */
function jsonField(value: Json | undefined, shared: Shared, change: OnChange): HTMLElement {
  const area = h("textarea", { ...shared, class: "field code", rows: "2", spellcheck: "false" });
  area.value = value === undefined ? "" : JSON.stringify(value);
  const read = (isFinal: boolean) => {
    try {
      change(JSON.parse(area.value) as Json, isFinal);
      area.classList.remove("wrong");
      area.title = "";
    } catch {
      area.classList.add("wrong");
      area.title = 'JSON, for example 3, "text", [1, 2] or {"name": 1}';
    }
  };
  area.addEventListener("input", () => read(false));
  area.addEventListener("change", () => read(true));
  return area;
}
