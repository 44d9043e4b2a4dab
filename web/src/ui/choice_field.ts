/** A text field with a list of what there is: type to search it, or choose with the arrow keys or the mouse. */

import { type Choice, type ChoiceGroup, filterChoices } from "../model/choices";
import { h } from "./dom";

/** Largest number of choices that are shown at once; the others are found by typing. */
const SHOWN = 300;
let count = 0;

/**
 * Put the list below a text field. In a field of several texts with commas, choosing adds or removes one.
 * `find` is called whenever the list opens.
 */
export function choiceField(
  input: HTMLInputElement,
  isMany: boolean,
  find: () => Promise<readonly ChoiceGroup[]>,
): HTMLElement {
  const id = `choices-${++count}`;
  const list = h("div", {
    id,
    class: "choices",
    role: "listbox",
    "aria-label": `Choices for ${input.getAttribute("aria-label")}`,
    "aria-multiselectable": String(isMany),
    hidden: true,
    // the focus stays in the field
    onpointerdown: (event: Event) => event.preventDefault(),
  });
  let groups: readonly ChoiceGroup[] = [];
  let options: HTMLElement[] = [];
  let active = -1;
  /** True from typing until the next choice: the list shows what fits the text. */
  let isSearching = false;

  const parts = () =>
    input.value
      .split(",")
      .map((part) => part.trim())
      .filter(Boolean);
  const chosen = () => (isMany ? parts() : [input.value.trim()]);
  /** The text that is being typed: in a field of several, the last one. */
  const typed = () => (isMany ? input.value.split(",").at(-1)!.trim() : input.value.trim());

  const activate = (index: number, place: ScrollLogicalPosition = "nearest") => {
    options[active]?.classList.remove("active");
    active = index;
    const option = options[active];
    option?.classList.add("active");
    option?.scrollIntoView({ block: place });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const render = () => {
    const shown = isSearching ? filterChoices(groups, typed()) : groups;
    const now = new Set(chosen());
    let left = SHOWN;
    options = [];
    const rows = shown.map(({ name, choices }) => {
      const own = choices.slice(0, left).map((choice) => {
        const option = row(choice, `${id}-${options.length}`, now.has(choice.value));
        option.addEventListener("click", () => choose(choice.value));
        options.push(option);
        return option;
      });
      left -= own.length;
      return h("div", { role: "group", "aria-label": name }, h("h4", {}, name), ...own);
    });
    list.replaceChildren(...rows.filter((group) => group.childElementCount > 1));
    if (left === 0) list.append(h("p", {}, "Type to find the others."));
    if (options.length === 0)
      list.append(h("p", {}, isSearching ? "No matches." : "None available."));
    if (isSearching && typed() && options.length) activate(0);
    else
      activate(
        options.findIndex((option) => option.ariaSelected === "true"),
        "center",
      );
  };
  const open = async (search: boolean) => {
    isSearching = search;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    render();
    groups = await find();
    if (!list.hidden) render();
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const set = (text: string) => {
    input.value = text;
    input.dispatchEvent(new Event("change"));
  };
  const choose = (value: string) => {
    if (!isMany) {
      set(value);
      close();
      return;
    }
    const now = isSearching ? parts().slice(0, -1) : parts();
    const has = now.includes(value);
    set((has ? now.filter((part) => part !== value) : [...now, value]).join(", "));
    const index = active;
    const scrolled = list.scrollTop;
    const wasSearching = isSearching;
    isSearching = false;
    render();
    if (wasSearching) activate(options.findIndex((option) => option.dataset.value === value));
    else activate(index);
    if (!wasSearching) list.scrollTop = scrolled;
  };
  const move = (step: number) => {
    const next = active < 0 && step < 0 ? options.length - 1 : active + step;
    activate(Math.max(0, Math.min(next, options.length - 1)));
  };

  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", id);
  input.setAttribute("aria-expanded", "false");
  input.addEventListener("input", () => void open(true));
  input.addEventListener("click", () => list.hidden && void open(false));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) void open(false);
      else move(event.key === "ArrowDown" ? 1 : -1);
      return;
    }
    if (list.hidden) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
    if (event.key !== "Enter") return;
    const value = options[active]?.dataset.value;
    if (value === undefined) return close();
    if (isMany) event.stopPropagation();
    choose(value);
  });
  const toggle = h("button", {
    type: "button",
    class: "choice-toggle",
    tabindex: "-1",
    "aria-hidden": "true",
    onpointerdown: (event: Event) => {
      event.preventDefault();
      const isOpen = !list.hidden;
      input.focus();
      if (isOpen) close();
      else void open(false);
    },
  });
  return h("div", { class: "choice-field" }, input, toggle, list);
}

function row(choice: Choice, id: string, isChosen: boolean): HTMLElement {
  const picture =
    choice.picture !== null && h("img", { src: choice.picture, alt: "", loading: "lazy" });
  return h(
    "div",
    {
      id,
      role: "option",
      "aria-selected": String(isChosen),
      class: "choice",
      title: choice.value,
      data: { value: choice.value },
    },
    picture,
    h("span", { class: "grow" }, choice.value),
    choice.detail ? h("small", {}, choice.detail) : null,
  );
}
