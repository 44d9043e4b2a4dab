/** The keys and gamepad buttons that are held while a person plays. */

export interface PlayerInputEvents {
  /** Called with all held keys, by KeyboardEvent.code. Gamepad buttons are Gamepad0, Gamepad1, … of the standard layout. */
  held(keys: readonly string[]): void;
  escaped(): void;
}

const STICK_THRESHOLD = 0.5;
/** Indices of the directions in the standard layout. The left stick counts as these buttons. */
const [UP, DOWN, LEFT, RIGHT] = [12, 13, 14, 15];

export class PlayerInput {
  isEnabled = false;
  readonly #keys = new Set<string>();
  #buttons: readonly string[] = [];
  #reported = "";

  constructor(private readonly events: PlayerInputEvents) {
    // before all other listeners, because a key for the game must do nothing else
    addEventListener("keydown", (event) => this.#down(event), { capture: true });
    addEventListener("keyup", (event) => this.#up(event), { capture: true });
    addEventListener("blur", () => this.#releaseAll());
    document.addEventListener("visibilitychange", () => this.#releaseAll());
  }

  setEnabled(isOn: boolean): void {
    this.#releaseAll();
    this.isEnabled = isOn;
    if (isOn) this.#poll();
  }

  #down(event: KeyboardEvent): void {
    if (
      !this.isEnabled ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.key === "Tab" ||
      isForField(event.target)
    )
      return;
    consume(event);
    if (event.key === "Escape") {
      this.events.escaped();
      return;
    }
    this.#keys.add(event.code);
    this.#report();
  }

  #up(event: KeyboardEvent): void {
    if (!this.#keys.delete(event.code)) return;
    consume(event);
    this.#report();
  }

  #releaseAll(): void {
    this.#keys.clear();
    this.#buttons = [];
    if (this.isEnabled) this.#report();
  }

  /** Read the gamepads, which send no events, once per animation frame. */
  #poll(): void {
    if (!this.isEnabled) return;
    requestAnimationFrame(() => this.#poll());
    if (!document.hasFocus()) return;
    this.#buttons = navigator.getGamepads().flatMap((pad) => (pad ? buttonsOf(pad) : []));
    this.#report();
  }

  #report(): void {
    const held = [...new Set([...this.#keys, ...this.#buttons])].sort();
    if (held.join() === this.#reported) return;
    this.#reported = held.join();
    this.events.held(held);
  }
}

function consume(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function buttonsOf(pad: Gamepad): string[] {
  const [x = 0, y = 0] = pad.axes;
  const held = pad.buttons.flatMap(({ pressed }, index) => (pressed ? [index] : []));
  if (Math.abs(x) > STICK_THRESHOLD) held.push(x < 0 ? LEFT : RIGHT);
  if (Math.abs(y) > STICK_THRESHOLD) held.push(y < 0 ? UP : DOWN);
  return held.map((index) => `Gamepad${index}`);
}

/** The key is meant for a field or a dialog. */
const isForField = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
