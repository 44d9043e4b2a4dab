/** Litegraph's nodes and groups, with our own shapes. */

import type { INodeInputSlot, INodeOutputSlot, LGraphCanvas } from "@comfyorg/litegraph";
import { LGraphGroup, LGraphNode } from "@comfyorg/litegraph";

import { type NodeAppearance, paintGroup } from "../canvas/paint";
import { HEADER, type NodeShape, type Port, ROW, shapeOf } from "../canvas/shape";
import type { Theme } from "../canvas/theme";
import type { NodeType } from "../model/catalog";
import type { Box, Group, NodeEntry, NodeStyle, Point } from "../model/workflow";
import type { BoardEvents } from "./events";

const GRID = 8;
export const snap = (value: number): number => Math.round(value / GRID) * GRID;

/** Objects that nodes, groups and the canvas share. */
export interface BoardContext {
  theme: Theme;
  readonly events: BoardEvents;
  appearanceOf(node: BoardNode): NodeAppearance;
}

export class BoardNode extends LGraphNode {
  entry!: NodeEntry;
  nodeType: NodeType | undefined;
  parts!: NodeShape;
  givenWidth: number | undefined;
  used: readonly string[] = [];
  style: NodeStyle = { colour: null, collapsed: false };

  constructor(readonly name: string) {
    super(name, "node");
  }

  /** Apply the node's entry in the workflow. The sockets are replaced by new ones without links. */
  update(
    entry: NodeEntry,
    nodeType: NodeType | undefined,
    width: number | undefined,
    used: readonly string[],
    style: NodeStyle,
  ): void {
    this.entry = entry;
    this.nodeType = nodeType;
    this.givenWidth = width;
    this.used = used;
    this.style = style;
    this.reshape();
    const slot = (port: Port) => ({
      name: port.name,
      type: "*",
      link: null,
      links: null,
      boundingRect: [0, 0, 0, 0],
    });
    this.inputs = this.parts.inputs.map(slot) as unknown as INodeInputSlot[];
    this.outputs = this.parts.outputs.map(slot) as unknown as INodeOutputSlot[];
  }

  reshape(): void {
    const { entry, nodeType, givenWidth, used, style } = this;
    this.parts = shapeOf(entry, nodeType, givenWidth, used, style.collapsed);
    this.size = [this.parts.width, this.parts.height];
  }

  get box(): Box {
    return [this.pos[0], this.pos[1], this.parts.width, this.parts.height];
  }

  override measure(out: Parameters<LGraphNode["measure"]>[0]): void {
    [out[0], out[1], out[2], out[3]] = this.box;
  }

  override computeSize(): [number, number] {
    return [0, this.parts.height];
  }

  override setSize(size: Parameters<LGraphNode["setSize"]>[0]): void {
    this.givenWidth = snap(size[0]!);
    this.reshape();
  }

  override getInputSlotPos(input: INodeInputSlot): [number, number] {
    return this.portPos(this.parts.inputs[this.inputs.indexOf(input)], 0);
  }

  override getOutputPos(slot: number): [number, number] {
    return this.portPos(this.parts.outputs[slot], this.parts.width);
  }

  /** Return name, type and documentation of the socket at a point in the workflow's coordinates; "" if there is none. */
  tooltipAt([x, y]: Point): string {
    const side = x - this.pos[0] < this.parts.width / 2 ? this.parts.inputs : this.parts.outputs;
    const port = side.find((each) => Math.abs(this.pos[1] + each.y - y) <= ROW / 2);
    if (!port?.socket) return "";
    return [`${port.name}: ${port.socket.kind}`, port.socket.doc].filter(Boolean).join("\n");
  }

  private portPos(port: Port | undefined, x: number): [number, number] {
    return [this.pos[0] + x, this.pos[1] + (port?.y ?? HEADER / 2)];
  }

  override isPointInside(x: number, y: number): boolean {
    const [left, top, width, height] = this.box;
    return x >= left - 8 && x <= left + width + 8 && y >= top && y <= top + height;
  }

  override isPointInCollapse(): boolean {
    return false;
  }

  override getWidgetOnPos(): undefined {
    return undefined;
  }

  override findResizeDirection(x: number, y: number): "SE" | undefined {
    const [left, top, width, height] = this.box;
    const inside =
      x > left + width - 12 && y > top + height - 12 && x <= left + width && y <= top + height;
    return inside && !this.parts.reroute ? "SE" : undefined;
  }
}

export class BoardGroup extends LGraphGroup {
  index = 0;
  group!: Group;
  boardContext!: BoardContext;

  override draw(_canvas: LGraphCanvas, ctx: CanvasRenderingContext2D): void {
    ctx.globalAlpha = 1;
    paintGroup(ctx, this.group, this._bounding, this.selected === true, this.boardContext.theme);
  }
}
