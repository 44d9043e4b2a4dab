/** Live pictures: one canvas per node, and one on the wires that leave it, placed by CSS and clipped where a node covers it. */

import type { Board } from "../board/board";
import { type Box, overlap } from "../model/workflow";
import type { Connection } from "./connection";

const MIN_SCALE = 0.25;

interface Picture {
  readonly node: string;
  readonly box: Box;
  readonly isOnWire: boolean;
}

/** The name of a canvas. Ids of nodes have no spaces. */
const keyOf = (node: string, isOnWire: boolean) => (isOnWire ? `wire of ${node}` : node);

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
    for (const key of [...this.#canvases.keys()]) this.#drop(key);
    this.#lastState = "";
  }

  /** Place all pictures, also those on wires if `withWires`. Return the nodes whose pictures are visible. */
  update(live: boolean, withWires: boolean): readonly string[] {
    if (!live && this.#canvases.size === 0) return [];
    const { scale, offset, area } = this.board.view;
    const pictures: Picture[] = this.board
      .screens()
      .map(({ id, box }) => ({ node: id, box, isOnWire: false }));
    if (live && withWires)
      pictures.push(
        ...this.board.wirePictures().map(({ id, box }) => ({ node: id, box, isOnWire: true })),
      );
    const boxes = [...this.board.boxes];
    const state = JSON.stringify([scale, offset, pictures, boxes, area]);
    const visible = pictures.filter(({ box }) => scale >= MIN_SCALE && overlap(box, area));
    if (state === this.#lastState) return visible.map(({ node }) => node);
    this.#lastState = state;
    const wanted = new Set(pictures.map(({ node, isOnWire }) => keyOf(node, isOnWire)));
    for (const key of [...this.#canvases.keys()]) if (!wanted.has(key)) this.#drop(key);
    for (const picture of pictures) {
      const { node, box, isOnWire } = picture;
      const canvas =
        this.#canvases.get(keyOf(node, isOnWire)) ?? (live ? this.#add(node, isOnWire) : null);
      if (!canvas) continue;
      const isVisible = visible.includes(picture);
      canvas.hidden = !isVisible;
      if (!isVisible) continue;
      canvas.style.width = `${box[2]}px`;
      canvas.style.height = `${box[3]}px`;
      canvas.style.transform = `translate(${(box[0] + offset[0]) * scale}px, ${(box[1] + offset[1]) * scale}px) scale(${scale})`;
      const index = isOnWire ? -1 : boxes.findIndex(([name]) => name === node);
      const front = boxes
        .slice(index + 1)
        .map(([, other]) => other)
        .filter((other) => overlap(other, box));
      canvas.style.clipPath = front.length ? clip(box, front) : "";
    }
    return visible.map(({ node }) => node);
  }

  /** Return the canvas with the pictures of a node; null if none was shown yet. */
  canvasOf(node: string): HTMLCanvasElement | null {
    const canvas = this.#canvases.get(keyOf(node, false));
    return canvas?.classList.contains("lit") ? canvas : null;
  }

  countFrames(node: string, count: number, tick: number): void {
    for (const isOnWire of [false, true]) {
      const canvas = this.#canvases.get(keyOf(node, isOnWire));
      if (!canvas) continue;
      countFrames(canvas, count, tick);
      canvas.classList.add("lit");
    }
  }

  #add(node: string, isOnWire: boolean): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    const key = keyOf(node, isOnWire);
    canvas.className = "screen";
    if (isOnWire) canvas.dataset.wire = node;
    else canvas.dataset.node = node;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `The picture of ${node}`);
    this.layer.append(canvas);
    this.connection.addScreen(node, canvas, key, isOnWire);
    this.#canvases.set(key, canvas);
    return canvas;
  }

  #drop(key: string): void {
    this.#canvases.get(key)?.remove();
    this.#canvases.delete(key);
    this.connection.dropScreen(key);
  }
}

/** Note on a canvas how many pictures were painted on it, and the tick of the last one. */
export function countFrames({ dataset }: HTMLCanvasElement, count: number, tick: number): void {
  dataset.frames = String(Number(dataset.frames ?? 0) + count);
  dataset.tick = String(tick);
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
