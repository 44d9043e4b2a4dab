/** The picture of the node that is watched in full, on a canvas of the same size. */

import type { Painted } from "./messages";

export class FullPicture {
  /** The name of the canvas for the web worker; no node can have it. */
  static readonly KEY = "in full";

  constructor(
    readonly node: string,
    private readonly canvas: HTMLCanvasElement,
  ) {}

  painted(node: string, { count, tick, width, height }: Painted): void {
    if (node !== this.node) return;
    const { dataset, style } = this.canvas;
    dataset.frames = String(Number(dataset.frames ?? 0) + count);
    dataset.tick = String(tick);
    style.width = `${width}px`;
    style.height = `${height}px`;
    this.canvas.setAttribute("aria-label", `The picture of ${node}, ${width} × ${height}`);
    this.canvas.dispatchEvent(new CustomEvent("painted", { detail: { width, height, tick } }));
  }
}
