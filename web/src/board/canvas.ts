/** Litegraph's canvas with our own painting, menus and keys. */

import type { CanvasPointerEvent, LGraphNode, LLink, Positionable } from "@comfyorg/litegraph";
import { LGraphCanvas } from "@comfyorg/litegraph";
import { backwardPath, forwardPath, isBackward, type Lane, laneFor } from "../canvas/link_path";
import { paintNode } from "../canvas/paint";
import { shownOutput } from "../canvas/shape";
import { labelColour } from "../canvas/theme";
import {
  freeWidth,
  type PlacedValue,
  paintWireValues,
  pictureBox,
  type WireValue,
} from "../canvas/wire_value";
import { BOX, labelOf } from "../model/catalog";
import { type Box, type Link, modeOf, type Point } from "../model/workflow";
import type { DraggedLink, MenuTarget } from "./events";
import { type BoardContext, BoardGroup, BoardNode } from "./node";

const DOTS = 32;

/** An output whose wires are in view. */
interface WireStart {
  readonly node: BoardNode;
  readonly socket: string;
  readonly at: Point;
  /** The free space between it and the next node. */
  readonly width: number;
  readonly label: string;
}

export class BoardCanvas extends LGraphCanvas {
  boardContext!: BoardContext;
  #lanes: Lane[] = [];
  #boxes: readonly Box[] = [];
  /** By "node.socket". */
  readonly #wireStarts = new Map<string, WireStart>();
  linkUnderNode: Link | null = null;
  /** A link that was dropped on empty canvas, shown while the palette is open. */
  pending: { readonly dragged: DraggedLink; readonly to: Point } | null = null;

  override drawNode(node: LGraphNode, ctx: CanvasRenderingContext2D): void {
    const boardNode = node as unknown as BoardNode;
    paintNode(
      ctx,
      boardNode.parts,
      this.boardContext.appearanceOf(boardNode),
      this.boardContext.theme,
      this.ds.scale,
    );
  }

  override drawConnections(ctx: CanvasRenderingContext2D): void {
    this.#lanes = [];
    this.#wireStarts.clear();
    this.#boxes = (this.graph!.nodes as unknown as BoardNode[]).map(({ box }) => box);
    super.drawConnections(ctx);
  }

  override renderLink(
    ctx: CanvasRenderingContext2D,
    a: ArrayLike<number>,
    b: ArrayLike<number>,
    link: LLink | null,
  ): void {
    const { theme } = this.boardContext;
    const from: Point = [a[0]!, a[1]!];
    const to: Point = [b[0]!, b[1]!];
    if (!link) {
      this.#drawDraggedLink(ctx, from, to);
      return;
    }
    const source = this.graph!.getNodeById(link.origin_id) as unknown as BoardNode;
    const target = this.graph!.getNodeById(link.target_id) as unknown as BoardNode;
    const output = source.parts.outputs[link.origin_slot];
    const isBack = isBackward(from, to);
    const others = () => (this.graph!.nodes as unknown as BoardNode[]).map((node) => node.box);
    const route = isBack
      ? backwardPath(from, to, laneFor(source.box, target.box, others(), this.#lanes))
      : forwardPath(from, to);
    link.path = route.path;
    link._pos.fill(Number.NaN); // the library's own handle in mid-link
    const inserted = this.linkUnderNode;
    const isUnderNode =
      inserted?.from.node === source.name &&
      inserted.to.node === target.name &&
      inserted.from.socket === output?.name &&
      inserted.to.socket === target.parts.inputs[link.target_slot]?.name;
    const isMuted = modeOf(source.entry) === "mute" || modeOf(target.entry) === "mute";
    const isHighlighted = this.highlighted_links[link.id] || isUnderNode;
    ctx.save();
    ctx.lineCap = "round";
    ctx.lineJoin = "round";
    ctx.globalAlpha = isMuted ? 0.25 : 1;
    ctx.strokeStyle = theme.canvas;
    ctx.lineWidth = isHighlighted ? 7 : 5.5;
    ctx.stroke(route.path);
    ctx.globalAlpha = isHighlighted ? 1 : 0.82;
    if (isMuted) ctx.globalAlpha = 0.3;
    ctx.strokeStyle = labelColour(labelOf(output?.socket), theme.dark);
    ctx.lineWidth = isHighlighted ? 3 : 2;
    if (isUnderNode) ctx.lineWidth = 4;
    if (target.parts.inputs[link.target_slot]?.name === "when") ctx.setLineDash([2, 5]);
    ctx.stroke(route.path);
    if (isBack && this.ds.scale > 0.3) this.#arrow(ctx, route.middle);
    ctx.restore();
    if (output) this.#addWireStart(source, output.name, from, labelOf(output.socket));
  }

  #addWireStart(node: BoardNode, socket: string, at: Point, label: string): void {
    const key = `${node.name}.${socket}`;
    if (this.#wireStarts.has(key)) return;
    this.#wireStarts.set(key, { node, socket, at, width: freeWidth(at, this.#boxes), label });
  }

  /** The nodes with wires in view that leave them. */
  get wireSources(): readonly string[] {
    return [...new Set([...this.#wireStarts.values()].map(({ node }) => node.name))];
  }

  /** The places on wires of the pictures of nodes that have no screen. */
  get wirePictures(): readonly { id: string; box: Box }[] {
    return [...this.#wireStarts.values()].flatMap(({ node, socket, at, width }) => {
      const { nodeType, parts } = node;
      if (parts.screen || !nodeType || shownOutput(nodeType) !== socket) return [];
      if (nodeType.category === BOX) return []; // the server knows only nodes
      const box = pictureBox(at, width);
      return box ? [{ id: node.name, box }] : [];
    });
  }

  /** Draw these values, by "node.socket", on the wires in view. Pictures are not drawn here. */
  drawWireValues(ctx: CanvasRenderingContext2D, values: ReadonlyMap<string, WireValue>): void {
    const { theme } = this.boardContext;
    const placed: PlacedValue[] = [];
    for (const [key, { at, width, label }] of this.#wireStarts) {
      const value = label === "frame" ? undefined : values.get(key);
      if (value) placed.push({ value, at, width, colour: labelColour(label, theme.dark) });
    }
    ctx.save();
    paintWireValues(ctx, placed, theme);
    ctx.restore();
  }

  drawPending(ctx: CanvasRenderingContext2D): void {
    if (!this.pending) return;
    const { dragged, to } = this.pending;
    const { node, port } = this.#portOf(dragged);
    if (!node || !port) return;
    const from: Point = [
      node.pos[0] + (dragged.side === "output" ? node.parts.width : 0),
      node.pos[1] + port.y,
    ];
    this.#drawDraggedLink(ctx, from, to, dragged);
  }

  #portOf({ end, side }: DraggedLink) {
    const node = (this.graph!.nodes as unknown as BoardNode[]).find(
      (each) => each.name === end.node,
    );
    const ports = side === "output" ? node?.parts.outputs : node?.parts.inputs;
    return { node, port: ports?.findLast((each) => each.name === end.socket) };
  }

  #drawDraggedLink(
    ctx: CanvasRenderingContext2D,
    from: Point,
    to: Point,
    dragged = draggedLinkOf(this),
  ): void {
    const port = dragged && this.#portOf(dragged).port;
    const route = dragged?.side === "input" ? forwardPath(to, from) : forwardPath(from, to);
    ctx.strokeStyle = ctx.fillStyle = labelColour(
      labelOf(port?.socket),
      this.boardContext.theme.dark,
    );
    ctx.lineWidth = 2.5;
    ctx.lineCap = "round";
    ctx.stroke(route.path);
  }

  /** Draw the arrow that shows the direction of a backward link. */
  #arrow(ctx: CanvasRenderingContext2D, [x, y]: Point): void {
    ctx.setLineDash([]);
    ctx.fillStyle = ctx.strokeStyle;
    ctx.beginPath();
    ctx.moveTo(x - 6, y);
    ctx.lineTo(x + 4, y - 5);
    ctx.lineTo(x + 4, y + 5);
    ctx.closePath();
    ctx.fill();
  }

  drawDots(ctx: CanvasRenderingContext2D): void {
    if (this.ds.scale < 0.35) return;
    const [left, top, width, height] = this.visible_area as unknown as Box;
    ctx.fillStyle = this.boardContext.theme.dot;
    for (let x = Math.floor(left / DOTS) * DOTS; x < left + width; x += DOTS) {
      for (let y = Math.floor(top / DOTS) * DOTS; y < top + height; y += DOTS)
        ctx.fillRect(x - 1, y - 1, 2, 2);
    }
  }

  override processSelect<Item extends Positionable = LGraphNode>(
    item: Item | null | undefined,
    event: CanvasPointerEvent | undefined,
    sticky?: boolean,
  ): void {
    // what was pressed may be gone by the time that the button is released
    if ((item instanceof BoardNode || item instanceof BoardGroup) && !item.graph) return;
    super.processSelect(item, event, sticky);
  }

  override processKey(): void {
    // the page handles all keys; litegraph would change its graph, but not the workflow
  }

  override processContextMenu(node: LGraphNode | undefined, event: CanvasPointerEvent): void {
    this.boardContext.events.menu(
      this.targetAt(node as unknown as BoardNode | undefined, event),
      point(event),
      [event.clientX, event.clientY],
    );
  }

  override showLinkMenu(): boolean {
    return false;
  }

  targetAt(node: BoardNode | undefined, event: CanvasPointerEvent): MenuTarget {
    if (node) return { on: "node", id: node.name };
    const link = this.linkAt(point(event), 10);
    if (link) return { on: "link", link };
    const group = this.graph?.getGroupOnPos(event.canvasX, event.canvasY) as BoardGroup | undefined;
    return group ? { on: "group", index: group.index } : { on: "empty" };
  }

  /** Return the link within `width` / 2 of a point. */
  linkAt([x, y]: Point, width: number, without?: BoardNode): Link | null {
    const { ctx } = this;
    ctx.save();
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.lineWidth = width;
    let found: Link | null = null;
    for (const link of this.graph!.links.values()) {
      if (!link.path || link.origin_id === without?.id || link.target_id === without?.id) continue;
      if (ctx.isPointInStroke(link.path, x, y)) found = this.linkOf(link);
    }
    ctx.restore();
    return found;
  }

  linkOf(link: LLink): Link {
    const source = this.graph!.getNodeById(link.origin_id) as unknown as BoardNode;
    const target = this.graph!.getNodeById(link.target_id) as unknown as BoardNode;
    return {
      from: { node: source.name, socket: source.parts.outputs[link.origin_slot]!.name },
      to: { node: target.name, socket: target.parts.inputs[link.target_slot]!.name },
    };
  }
}

export const point = (event: CanvasPointerEvent): Point => [event.canvasX, event.canvasY];

/** Return the link that litegraph is dragging. */
export function draggedLinkOf(canvas: BoardCanvas): DraggedLink | null {
  const dragged = canvas.linkConnector.renderLinks[0] as unknown as
    | {
        toType: "input" | "output";
        node: BoardNode;
        fromSlot: { name: string };
        link?: LLink;
        outputNode?: BoardNode;
        outputSlot?: { name: string };
      }
    | undefined;
  if (!dragged) return null;
  if (dragged.link && dragged.outputNode && dragged.outputSlot && dragged.toType === "input") {
    const end = { node: dragged.outputNode.name, socket: dragged.outputSlot.name };
    return { end, side: "output", detached: canvas.linkOf(dragged.link) };
  }
  const end = { node: dragged.node.name, socket: dragged.fromSlot.name };
  return { end, side: dragged.toType === "input" ? "output" : "input", detached: null };
}
