/** Shows ticks of one recorded run, one after the other. */

import { api } from "../api";
import { showMessage } from "../ui/overlay";

export class Seeking {
  /** The tick of the last request, until it is answered. */
  #sought: number | null = null;
  #underway: Promise<void> | null = null;

  constructor(readonly run: string) {}

  /** Show a tick. A newer request replaces one that waits. It is over when nothing is left to ask for. */
  async to(tick: number): Promise<void> {
    this.#sought = tick;
    this.#underway ??= this.#ask();
    await this.#underway;
  }

  async #ask(): Promise<void> {
    while (this.#sought !== null) {
      const tick = this.#sought;
      await api.seek(this.run, tick).catch((error: Error) => showMessage(error.message, "error"));
      if (this.#sought === tick) this.#sought = null;
    }
    this.#underway = null;
  }
}
