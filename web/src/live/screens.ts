/** Live pictures: one canvas per node, placed over it by CSS, and clipped where another node covers it. */

import type { Board } from "../board/board";
import { type Box, overlap } from "../model/workflow";
import type { Connection } from "./connection";

const MIN_SCALE = 0.25;

export class Screens {
  readonly #canvases = new Map<string, HTMLCanvasElement>();
  #lastState = "";

  constructor(
    private readonly layer: HTMLElement,
    private readonly board: Board,
    private readonly connection: Connection,
  ) {}

  /** Remove all pictures, before those of another run. */
  clear(): void {
    for (const id of [...this.#canvases.keys()]) this.#drop(id);
    this.#lastState = "";
  }

  /** Place all pictures. Return the nodes whose pictures are visible. */
  update(live: boolean): readonly string[] {
    if (!live && this.#canvases.size === 0) return [];
    const { scale, offset, area } = this.board.view;
    const screens = this.board.screens();
    const boxes = [...this.board.boxes];
    const key = JSON.stringify([scale, offset, screens, boxes, area]);
    const visible = screens.filter(({ box }) => scale >= MIN_SCALE && overlap(box, area));
    if (key === this.#lastState) return visible.map(({ id }) => id);
    this.#lastState = key;
    const wanted = new Set(screens.map(({ id }) => id));
    for (const id of [...this.#canvases.keys()]) if (!wanted.has(id)) this.#drop(id);
    for (const { id, box } of screens) {
      const canvas = this.#canvases.get(id) ?? (live ? this.#add(id) : null);
      if (!canvas) continue;
      const isVisible = visible.some((each) => each.id === id);
      canvas.hidden = !isVisible;
      if (!isVisible) continue;
      canvas.style.width = `${box[2]}px`;
      canvas.style.height = `${box[3]}px`;
      canvas.style.transform = `translate(${(box[0] + offset[0]) * scale}px, ${(box[1] + offset[1]) * scale}px) scale(${scale})`;
      const index = boxes.findIndex(([name]) => name === id);
      const front = boxes
        .slice(index + 1)
        .map(([, other]) => other)
        .filter((other) => overlap(other, box));
      canvas.style.clipPath = front.length ? clip(box, front) : "";
    }
    return visible.map(({ id }) => id);
  }

  countFrames(node: string, count: number, tick: number): void {
    const canvas = this.#canvases.get(node);
    if (!canvas) return;
    canvas.dataset.frames = String(Number(canvas.dataset.frames ?? 0) + count);
    canvas.dataset.tick = String(tick);
    canvas.classList.add("lit");
  }

  #add(id: string): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.className = "screen";
    canvas.dataset.node = id;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The picture of ${id}`);
    this.layer.append(canvas);
    this.connection.addScreen(id, canvas);
    this.#canvases.set(id, canvas);
    return canvas;
  }

  #drop(id: string): void {
    this.#canvases.get(id)?.remove();
    this.#canvases.delete(id);
    this.connection.dropScreen(id);
  }
}

/** Return a clip path, relative to the box, that leaves out the boxes in front of it. */
function clip(box: Box, front: readonly Box[]): string {
  const rectangle = (x: number, y: number, w: number, h: number) => `M${x} ${y}h${w}v${h}h${-w}z`;
  const holes = front.map(([x, y, w, h]) => {
    const [left, top] = [Math.max(x - box[0], 0), Math.max(y - box[1], 0)];
    return rectangle(
      left,
      top,
      Math.min(x - box[0] + w, box[2]) - left,
      Math.min(y - box[1] + h, box[3]) - top,
    );
  });
  return `path(evenodd, "${rectangle(0, 0, box[2], box[3])}${holes.join("")}")`;
}
