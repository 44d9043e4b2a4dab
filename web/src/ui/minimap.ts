/** The minimap: click or drag to move the view. Also the pictures of workflows in the gallery. */

import type { Board } from "../board/board";
import { shapeOf } from "../canvas/shape";
import { labelColour, readTheme } from "../canvas/theme";
import type { Catalog } from "../model/catalog";
import { type Box, isWithin, links, positionOf, styleOf, type Workflow } from "../model/workflow";
import { mainLabel } from "./palette";

const PADDING = 8;

interface MapTransform {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

function fitTransform(boxes: Iterable<Box>, width: number, height: number): MapTransform {
  const all = [...boxes];
  const left = Math.min(...all.map(([x]) => x));
  const top = Math.min(...all.map(([, y]) => y));
  const w = Math.max(...all.map(([x, , each]) => x + each)) - left;
  const h = Math.max(...all.map(([, y, , each]) => y + each)) - top;
  const scale = Math.min((width - 2 * PADDING) / w, (height - 2 * PADDING) / h, 0.4);
  return {
    scale,
    x: (width - w * scale) / 2 - left * scale,
    y: (height - h * scale) / 2 - top * scale,
  };
}

function resizeCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  return ctx;
}

function drawBoxes(
  ctx: CanvasRenderingContext2D,
  boxes: Iterable<readonly [string, Box]>,
  colourOf: (id: string) => string,
  { scale, x, y }: MapTransform,
): void {
  for (const [id, [left, top, w, h]] of boxes) {
    ctx.fillStyle = colourOf(id);
    ctx.beginPath();
    ctx.roundRect(
      left * scale + x,
      top * scale + y,
      Math.max(w * scale, 2),
      Math.max(h * scale, 2),
      1.5,
    );
    ctx.fill();
  }
}

export class Minimap {
  #transform: MapTransform | null = null;
  #last = "";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly board: Board,
    private readonly colourOf: (id: string) => string,
  ) {
    const go = (event: PointerEvent) => {
      if (!this.#transform || event.buttons === 0) return;
      const { left, top } = canvas.getBoundingClientRect();
      const { scale, x, y } = this.#transform;
      board.centre([(event.clientX - left - x) / scale, (event.clientY - top - y) / scale]);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", go);
  }

  draw(): void {
    const {
      boxes,
      view: { area },
    } = this.board;
    this.canvas.hidden = [...boxes.values()].every((box) => isWithin(box, area)); // all in view: there is nowhere to go
    if (this.canvas.hidden) return;
    const key = JSON.stringify([...boxes, area, document.documentElement.dataset.theme]);
    if (key === this.#last) return;
    this.#last = key;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ctx = resizeCanvas(this.canvas, width, height);
    const theme = readTheme();
    this.#transform = fitTransform([...boxes.values(), area], width, height);
    drawBoxes(ctx, boxes, this.colourOf, this.#transform);
    const { scale, x, y } = this.#transform;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(area[0] * scale + x, area[1] * scale + y, area[2] * scale, area[3] * scale);
  }
}

/** Draw a small picture of a workflow. */
export function drawMap(
  canvas: HTMLCanvasElement,
  workflow: Workflow,
  catalog: Catalog,
  width: number,
  height: number,
): void {
  const ctx = resizeCanvas(canvas, width, height);
  const { dark, line } = readTheme();
  const boxes = new Map(
    Object.entries(workflow.nodes).map(([id, entry], i) => {
      const { at, width: given } = positionOf(workflow, id) ?? {
        at: [80 + i * 260, 80] as const,
        width: undefined,
      };
      const { collapsed } = styleOf(workflow, id);
      const shape = shapeOf(entry, catalog.find(entry.type), given, [], collapsed);
      return [id, [at[0], at[1], shape.width, shape.height] as Box];
    }),
  );
  const transform = fitTransform(boxes.values(), width, height);
  const at = (x: number, y: number) =>
    [x * transform.scale + transform.x, y * transform.scale + transform.y] as const;
  ctx.strokeStyle = line;
  ctx.lineWidth = 1.5;
  for (const { from, to } of links(workflow)) {
    const [a, b] = [boxes.get(from.node), boxes.get(to.node)];
    if (!a || !b) continue;
    const [x1, y1] = at(a[0] + a[2], a[1] + a[3] / 2);
    const [x2, y2] = at(b[0], b[1] + b[3] / 2);
    const bend = Math.max(Math.abs(x2 - x1) / 2, 12);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    ctx.stroke();
  }
  const colourOf = (id: string) => {
    const type = catalog.find(workflow.nodes[id]!.type);
    return labelColour(type ? mainLabel(type) : "any", dark);
  };
  drawBoxes(ctx, boxes, colourOf, transform);
}
