/** The keys and gamepad buttons that are held, for as long as a person plays. */

export interface KeysEvents {
  /** What is held now, by KeyboardEvent.code; a gamepad's buttons are Gamepad0, Gamepad1, … of the standard layout. */
  held(keys: readonly string[]): void;
  escaped(): void;
}

const STICK = 0.5;
/** Up, down, left and right of the standard layout; the left stick counts as these. */
const [UP, DOWN, LEFT, RIGHT] = [12, 13, 14, 15];

export class Keys {
  isOn = false;
  readonly #keys = new Set<string>();
  #buttons: readonly string[] = [];
  #told = "";

  constructor(private readonly events: KeysEvents) {
    // before all others: a key that goes to the game does nothing else
    addEventListener("keydown", (event) => this.#down(event), { capture: true });
    addEventListener("keyup", (event) => this.#up(event), { capture: true });
    addEventListener("blur", () => this.#letGo());
    document.addEventListener("visibilitychange", () => this.#letGo());
  }

  turn(isOn: boolean): void {
    this.#letGo();
    this.isOn = isOn;
    if (isOn) this.#poll();
  }

  #down(event: KeyboardEvent): void {
    if (!this.isOn || event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab" || isForPage(event.target)) return;
    take(event);
    if (event.key === "Escape") {
      this.events.escaped();
      return;
    }
    this.#keys.add(event.code);
    this.#tell();
  }

  #up(event: KeyboardEvent): void {
    if (!this.#keys.delete(event.code)) return;
    take(event);
    this.#tell();
  }

  #letGo(): void {
    this.#keys.clear();
    this.#buttons = [];
    if (this.isOn) this.#tell();
  }

  /** Gamepads say nothing by themselves. */
  #poll(): void {
    if (!this.isOn) return;
    requestAnimationFrame(() => this.#poll());
    if (!document.hasFocus()) return;
    this.#buttons = navigator.getGamepads().flatMap((pad) => (pad ? buttonsOf(pad) : []));
    this.#tell();
  }

  #tell(): void {
    const held = [...new Set([...this.#keys, ...this.#buttons])].sort();
    if (held.join() === this.#told) return;
    this.#told = held.join();
    this.events.held(held);
  }
}

function take(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function buttonsOf(pad: Gamepad): string[] {
  const [x = 0, y = 0] = pad.axes;
  const held = pad.buttons.flatMap(({ pressed }, index) => (pressed ? [index] : []));
  if (Math.abs(x) > STICK) held.push(x < 0 ? LEFT : RIGHT);
  if (Math.abs(y) > STICK) held.push(y < 0 ? UP : DOWN);
  return held.map((index) => `Gamepad${index}`);
}

/** Somebody types in a field, or answers a dialog. */
const isForPage = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
