/** What both palettes are made of: a text field, and a list of what it finds, chosen from with the arrow keys. */

import { h, icon } from "./dom";

interface Settings<Item> {
  /** What is searched, in the plural: the list is called so. */
  name: string;
  /** The text field is called so. */
  label: string;
  placeholder: string;
  /** The text when nothing is found. */
  empty: string;
  /** The text to begin with. */
  query?: string;
  find(query: string): readonly Item[];
  /** Make the row of an item. */
  row(item: Item): HTMLElement;
  /** Called for the row that is clicked, or is chosen when Enter is pressed. */
  accept(item: Item): void;
}

export class SearchList<Item> {
  readonly input: HTMLInputElement;
  readonly head: HTMLElement;
  readonly list: HTMLElement;
  #found: readonly Item[] = [];
  #index = 0;

  /** `id` begins the ids of the elements. */
  constructor(
    private readonly id: string,
    private readonly settings: Settings<Item>,
  ) {
    const { name, label, placeholder, query = "" } = settings;
    this.input = h("input", {
      class: "palette-input",
      type: "text",
      placeholder,
      value: query,
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": `${id}-list`,
      "aria-label": label,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => this.#search(),
      onkeydown: (event: KeyboardEvent) => this.#onKey(event),
    });
    this.head = h("div", { class: "palette-head" }, icon("search"), this.input);
    this.list = h("div", {
      id: `${id}-list`,
      class: "palette-list",
      role: "listbox",
      "aria-label": name,
    });
    this.#search();
  }

  get chosen(): Item | undefined {
    return this.#found[this.#index];
  }

  #search(): void {
    const { find, accept, row, empty } = this.settings;
    this.#found = find(this.input.value);
    const rows = this.#found.map((item, i) => {
      const element = row(item);
      element.id = `${this.id}-${i}`;
      element.className = "palette-option";
      element.role = "option";
      element.addEventListener("click", () => accept(item));
      return element;
    });
    if (rows.length === 0) rows.push(h("p", { class: "empty" }, empty));
    this.list.replaceChildren(...rows);
    this.#choose(0);
  }

  #choose(index: number): void {
    this.#index = Math.max(0, Math.min(index, this.#found.length - 1));
    for (const [i, row] of [...this.list.children].entries()) {
      row.ariaSelected = String(i === this.#index);
      if (i === this.#index) row.scrollIntoView({ block: "nearest" });
    }
    this.input.setAttribute("aria-activedescendant", `${this.id}-${this.#index}`);
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#choose(this.#index + step);
    else if (event.key !== "Enter") return;
    else if (this.chosen) this.settings.accept(this.chosen);
    event.preventDefault();
  }
}
