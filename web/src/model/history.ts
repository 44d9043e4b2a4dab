/** Undo and redo, with one step per gesture. Workflows are immutable, so a step is a reference. */

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

  /** Add a workflow. Successive commits of the same `gesture`, such as typing in a field, are one step. */
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

  /** Replace the present workflow without a step. */
  replace(present: Workflow): void {
    this.#present = present;
  }

  /** Begin a new step with the next commit. */
  endGesture(): void {
    this.#gesture = null;
  }

  undo(): boolean {
    return this.#step(this.#past, this.#future);
  }

  redo(): boolean {
    return this.#step(this.#future, this.#past);
  }

  /** Remove the last commit for good: it cannot be redone. */
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
