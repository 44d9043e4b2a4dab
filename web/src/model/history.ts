/** Undo and redo: one step a gesture. Workflows are never changed in place, so a step is a reference. */

import type { Workflow } from "./workflow";

const LIMIT = 200;

export class History {
  readonly #past: Workflow[] = [];
  #future: Workflow[] = [];
  #present: Workflow;
  #gesture: string | null = null;

  constructor(first: Workflow) {
    this.#present = first;
  }

  get present(): Workflow {
    return this.#present;
  }

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  /** The next workflow. Commits of the same `gesture` (typing in one field) in a row are one step. */
  commit(next: Workflow, gesture: string | null = null): boolean {
    if (next === this.#present) return false;
    if (gesture === null || gesture !== this.#gesture) {
      this.#past.push(this.#present);
      if (this.#past.length > LIMIT) this.#past.shift();
    }
    this.#gesture = gesture;
    this.#future = [];
    this.#present = next;
    return true;
  }

  /** Another form of the same workflow: no step of its own. */
  replace(present: Workflow): void {
    this.#present = present;
  }

  /** What is committed from here on is a step of its own. */
  endGesture(): void {
    this.#gesture = null;
  }

  undo(): boolean {
    return this.#step(this.#past, this.#future);
  }

  redo(): boolean {
    return this.#step(this.#future, this.#past);
  }

  /** Take back the last commit as if it had never been: nothing is left to redo. */
  withdraw(): boolean {
    const done = this.undo();
    this.#future = [];
    return done;
  }

  #step(from: Workflow[], to: Workflow[]): boolean {
    const target = from.pop();
    if (!target) return false;
    to.push(this.#present);
    this.#present = target;
    this.#gesture = null;
    return true;
  }
}
