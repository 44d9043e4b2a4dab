/** What the page shows of a run beside its pictures. The choice is remembered in the browser. */

const KEY = "minibrains.live-view";

export class LiveView {
  #hidden: ReadonlySet<string>;

  constructor() {
    this.#hidden = new Set((localStorage.getItem(KEY) ?? "").split(" "));
  }

  shows(what: "budgets" | "wires"): boolean {
    return !this.#hidden.has(what);
  }

  toggle(what: "budgets" | "wires"): void {
    const hidden = new Set(this.#hidden);
    if (!hidden.delete(what)) hidden.add(what);
    this.#hidden = hidden;
    localStorage.setItem(KEY, [...hidden].join(" "));
  }
}
