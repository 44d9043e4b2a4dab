/** Shows ticks of one recorded run, one after the other. */

import { api } from "../api";
import { showMessage } from "../ui/overlay";

export class Seeking {
  /** The tick of the last request, until it is answered. */
  #sought: number | null = null;

  constructor(readonly run: string) {}

  /** Show a tick. A newer request replaces one that waits. */
  async to(tick: number): Promise<void> {
    const isUnderway = this.#sought !== null;
    this.#sought = tick;
    if (isUnderway) return;
    for (let asked: number | null = null; asked !== this.#sought; ) {
      asked = this.#sought;
      await api.seek(this.run, asked).catch((error: Error) => showMessage(error.message, "error"));
    }
    this.#sought = null;
  }
}
