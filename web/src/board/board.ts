/**
 * Only this folder uses litegraph. Its graph is always made from the workflow: gestures become events with ids and
 * sockets, the owner changes the workflow, and calls `show` again. Litegraph does the panning, zooming, selecting and
 * dragging; painting, menus, prompts, keys and the checks of links are our own.
 */

import type { CanvasPointerEvent, LGraphNode } from "@comfyorg/litegraph";
import { CanvasPointer, LGraph, LiteGraph, LLink } from "@comfyorg/litegraph";

import { DETAIL_SCALE, type NodeAppearance, type NodeBudget } from "../canvas/paint";
import { partAt } from "../canvas/shape";
import { readTheme } from "../canvas/theme";
import type { WireValue } from "../canvas/wire_value";
import { shareDone } from "../live/progress";
import { areNotable, savingsText } from "../live/savings";
import { BOX, type Catalog } from "../model/catalog";
import { same } from "../model/json";
import type { Box, Link, Point, Workflow } from "../model/workflow";
import {
  groupsOf,
  isWithin,
  links,
  modeOf,
  nameOf,
  overlap,
  positionOf,
  readGroup,
  sources,
  styleOf,
  typeName,
} from "../model/workflow";
import { BoardCanvas, draggedLinkOf, point } from "./canvas";
import type { BoardEvents, DraggedLink, NodeAnnotations, NodePicture } from "./events";
import { type BoardContext, BoardGroup, BoardNode, snap } from "./node";

/** Space below the nodes for backward links. */
const LANE = 48;
/** The least scale at which a workflow is opened: sockets, widgets and pictures can be read. */
const READABLE_SCALE = 0.6;
/** Distance of a workflow that is larger than the view from its left and upper edge, in pixels. */
const OPENED_MARGIN = 56;
/** The longest side of a picture of the workflow, and the space around it, in pixels. */
const PICTURE_SIDE = 4096;
const PICTURE_MARGIN = 56;

export class Board {
  readonly #graph = new LGraph();
  readonly #canvas: BoardCanvas;
  readonly #nodes = new Map<string, BoardNode>();
  readonly #context: BoardContext;
  #workflow: Workflow | null = null;
  #annotations: NodeAnnotations = {
    run: new Map(),
    faults: new Map(),
    values: new Map(),
    wireValues: null,
    breakpoints: new Map(),
    budget: null,
    pictures: new Map(),
  };
  /** True while a picture is painted, which is not a change of the view. */
  #isPainting = false;
  /** The view after the last `fit`. */
  #fitted: object | null = null;
  readonly #allowedLinks = new Map<string, boolean>();

  constructor(
    readonly element: HTMLCanvasElement,
    private catalog: Catalog,
    readonly events: BoardEvents,
  ) {
    LiteGraph.snap_highlights_node = false;
    LiteGraph.snaps_for_comfy = false;
    LiteGraph.alt_drag_do_clone_nodes = false;
    LiteGraph.canvasNavigationMode = "legacy";
    CanvasPointer.doubleClickTime = 500;
    LiteGraph.isValidConnection = () => false; // `events.mayLink` decides
    this.#context = {
      theme: readTheme(),
      events,
      appearanceOf: (node) => this.#appearanceOf(node),
    };
    this.#canvas = new BoardCanvas(element, this.#graph, { skip_render: true });
    Object.assign(this.#canvas, {
      allow_searchbox: false,
      show_info: false,
      render_canvas_border: false,
      background_image: "",
      clear_background_color: "",
      zoom_speed: 1.08,
      render_link_tooltip: false,
      autoresize: false,
    });
    this.#canvas.boardContext = this.#context;
    this.#canvas.ds.max_scale = 2.5;
    this.#canvas.ds.min_scale = 0.08;
    this.#canvas.linkConnector.dropLinks = (_, event) => this.#dropLink(event);
    this.#canvas.onSelectionChange = () => events.selected(this.selection);
    this.#canvas.onDrawBackground = (ctx) => this.#canvas.drawDots(ctx);
    this.#canvas.onDrawForeground = (ctx) => {
      this.drawWireValues(ctx);
      this.#canvas.drawPending(ctx);
      if (!this.#isPainting) events.drawn();
    };
    this.#graph.onAfterChange = () => undefined;
    element.addEventListener("litegraph:canvas", (event) =>
      this.#canvasEvent((event as CustomEvent).detail),
    );
    element.addEventListener("pointermove", (event) => {
      this.#watchDrag();
      this.#updateTooltip(this.fromClient([event.clientX, event.clientY]));
    });
    element.addEventListener("pointerup", () => queueMicrotask(() => this.#commitGesture()), true); // litegraph stops it
    this.#canvas.startRendering();
  }

  /** Draw the values on the wires in view, in the coordinates of the workflow. */
  drawWireValues(ctx: CanvasRenderingContext2D): void {
    const { wireValues } = this.#annotations;
    if (!wireValues || this.view.scale < DETAIL_SCALE) return;
    this.#canvas.drawWireValues(ctx, wireValues);
  }

  #canvasEvent(detail: {
    subType: string;
    originalEvent?: CanvasPointerEvent;
    node?: LGraphNode;
  }): void {
    const event = detail.originalEvent;
    if (!event) return;
    if (detail.subType === "empty-double-click")
      this.events.search(point(event), [event.clientX, event.clientY]);
    if (detail.subType === "group-double-click") this.#canvas.processContextMenu(undefined, event);
    if (detail.subType === "node-double-click")
      this.events.open((detail.node as unknown as BoardNode).name);
  }

  /** Show a workflow. Only the differences to the last one are updated. */
  show(workflow: Workflow, catalog: Catalog = this.catalog): void {
    const before = catalog === this.catalog ? this.#workflow : null;
    this.catalog = catalog;
    this.#workflow = workflow;
    const selected = new Set(this.selection);
    const used = this.#usedOutputs(workflow);
    const usedBefore = before ? this.#usedOutputs(before) : new Map<string, string[]>();
    let linksChanged = before === null || before.nodes !== workflow.nodes;
    for (const [name, node] of [...this.#nodes]) {
      if (Object.hasOwn(workflow.nodes, name)) continue;
      this.#clearLinks();
      this.#graph.remove(node);
      this.#nodes.delete(name);
    }
    let unplaced = 0;
    for (const [name, entry] of Object.entries(workflow.nodes)) {
      const node = this.#nodes.get(name) ?? this.#addNode(name);
      const position = positionOf(workflow, name);
      const style = styleOf(workflow, name);
      const isSame =
        before &&
        node.entry === entry &&
        node.nodeType === catalog.find(entry.type) &&
        node.givenWidth === position?.width &&
        same(node.style, style) &&
        same(used.get(name), usedBefore.get(name));
      if (!isSame) {
        node.update(entry, catalog.find(entry.type), position?.width, used.get(name) ?? [], style);
        linksChanged = true; // its sockets are new ones
      }
      const at =
        position?.at ??
        ([80 + (unplaced % 5) * 260, 80 + Math.floor(unplaced++ / 5) * 220] as Point);
      node.pos = [at[0], at[1]];
    }
    if (linksChanged) {
      this.#clearLinks();
      this.#addLinks(workflow);
    }
    this.#showGroups(workflow);
    this.select([...selected].filter((id) => this.#nodes.has(id)));
    this.redraw();
  }

  #usedOutputs(workflow: Workflow): Map<string, string[]> {
    const result = new Map<string, string[]>();
    for (const { from } of links(workflow)) {
      const known = result.get(from.node);
      if (!known) result.set(from.node, [from.socket]);
      else if (!known.includes(from.socket)) known.push(from.socket);
    }
    return result;
  }

  #addNode(name: string): BoardNode {
    const node = new BoardNode(name);
    this.#nodes.set(name, node);
    this.#graph.add(node, true);
    return node;
  }

  #clearLinks(): void {
    this.#graph.links.clear();
    for (const node of this.#nodes.values()) {
      for (const input of node.inputs) input.link = null;
      for (const output of node.outputs) output.links = null;
    }
  }

  #addLinks(workflow: Workflow): void {
    let id = 0;
    this.#canvas.highlighted_links = {};
    for (const [name, entry] of Object.entries(workflow.nodes)) {
      const target = this.#nodes.get(name)!;
      for (const [slot, port] of target.parts.inputs.entries()) {
        const end = sources(entry, port.name)[port.index];
        const source = end && this.#nodes.get(end.node);
        const output = source
          ? source.parts.outputs.findIndex((each) => each.name === end.socket)
          : -1;
        if (!source || output < 0) continue;
        const link = new LLink(++id, "*", source.id, output, target.id, slot);
        this.#graph.links.set(id, link);
        target.inputs[slot]!.link = id;
        const slots = source.outputs[output]!;
        slots.links = [...(slots.links ?? []), id];
      }
    }
  }

  #showGroups(workflow: Workflow): void {
    const wanted = groupsOf(workflow).map(readGroup);
    const drawn = this.#graph.groups as BoardGroup[];
    const groups = wanted.flatMap((group, index) => (group ? [{ ...group, index }] : []));
    while (drawn.length > groups.length) this.#graph.remove(drawn.at(-1)!);
    for (const [i, wantedGroup] of groups.entries()) {
      const { title, bounds, index } = wantedGroup;
      if (!drawn[i]) this.#graph.add(new BoardGroup(title));
      const group = (this.#graph.groups as BoardGroup[])[i]!;
      group.title = title;
      group.group = wantedGroup;
      group.index = index;
      group.boardContext = this.#context;
      group.pos = [bounds[0], bounds[1]];
      group.size = [bounds[2], bounds[3]];
    }
  }

  /** Report the new positions of nodes and groups after a gesture. */
  #commitGesture(): void {
    const workflow = this.#workflow;
    if (!workflow) return;
    const positions = new Map<string, { at: Point; width?: number | undefined }>();
    for (const [name, node] of this.#nodes) {
      const before = positionOf(workflow, name);
      if (
        before &&
        before.at[0] === node.pos[0] &&
        before.at[1] === node.pos[1] &&
        before.width === node.givenWidth
      )
        continue;
      if (!before && !node.selected) continue;
      positions.set(name, { at: [snap(node.pos[0]), snap(node.pos[1])], width: node.givenWidth });
    }
    const groups = new Map<number, Box>();
    for (const group of this.#graph.groups as BoardGroup[]) {
      const [x, y, w, h] = group._bounding as unknown as [number, number, number, number];
      const before = readGroup(groupsOf(workflow)[group.index]!)!;
      if (!same(before.bounds.map(Math.round), [x, y, w, h].map(Math.round)))
        groups.set(group.index, [x, y, w, h]);
    }
    const link = this.#canvas.linkUnderNode;
    this.#canvas.linkUnderNode = null;
    if (positions.size || groups.size) this.events.moved(positions, groups);
    if (link && positions.size === 1) this.events.insert([...positions.keys()][0]!, link);
  }

  /** Highlight the link below an unlinked node that is being dragged. */
  #watchDrag(): void {
    const canvas = this.#canvas;
    const only =
      canvas.isDragging && canvas.selectedItems.size === 1 ? [...canvas.selectedItems][0] : null;
    let found: Link | null = null;
    if (
      only instanceof BoardNode &&
      !only.inputs.some((slot) => slot.link !== null) &&
      !only.outputs.some((slot) => slot.links?.length)
    ) {
      const [x, y, w, h] = only.box;
      found = canvas.linkAt([x + w / 2, y + Math.min(h / 2, 30)], Math.min(h, 48), only);
    }
    if (!same(found, canvas.linkUnderNode)) canvas.setDirty(true, true);
    canvas.linkUnderNode = found;
  }

  /** Set the tooltip to the socket under the pointer, or to the time that caches saved the node. */
  #updateTooltip(at: Point): void {
    const node = this.#graph.getNodeOnPos(at[0], at[1]) as unknown as BoardNode | null;
    const tooltip =
      this.#canvas.isDragging || !node
        ? ""
        : node.tooltipAt(at) || savingsText(this.#annotations.run.get(node.name)?.savings ?? []);
    if (this.element.title !== tooltip) this.element.title = tooltip;
  }

  #dropLink(event: CanvasPointerEvent): void {
    const dragged = draggedLinkOf(this.#canvas);
    if (!dragged) return;
    const node = this.#graph.getNodeOnPos(
      event.canvasX,
      event.canvasY,
    ) as unknown as BoardNode | null;
    const at = point(event);
    this.#allowedLinks.clear();
    const target = node && { id: node.name, socket: this.#socketAt(node, dragged, at) };
    this.events.linked(dragged, target, at, [event.clientX, event.clientY]);
  }

  #socketAt(node: BoardNode, dragged: DraggedLink, [, y]: Point): string | null {
    if (node.parts.collapsed) return null;
    const ports = dragged.side === "output" ? node.parts.inputs : node.parts.outputs;
    return ports.find((port) => Math.abs(node.pos[1] + port.y - y) <= 12)?.name ?? null;
  }

  #appearanceOf(node: BoardNode): NodeAppearance {
    const { entry, nodeType } = node;
    const run = this.#annotations.run.get(node.name);
    const title = nameOf(node.name, entry);
    const type = nodeType?.category === BOX ? BOX : typeName(entry.type);
    const dragged = this.#canvas.linkConnector.isConnecting ? draggedLinkOf(this.#canvas) : null;
    return {
      title,
      subtitle: type,
      unknown: nodeType === undefined,
      colour: node.style.colour,
      mode: modeOf(entry),
      selected: node.selected === true && !this.#isPainting,
      state: run?.state ?? null,
      ms: run?.ms ?? null,
      budget: this.#budgetOf(node.name),
      progress: shareDone(run?.progress ?? null),
      usedCache: run !== undefined && areNotable(run.savings),
      fault: run?.error ?? this.#annotations.faults.get(node.name) ?? null,
      isLinked: (port, side) => {
        const slots = side === "in" ? node.inputs : node.outputs;
        const index = (side === "in" ? node.parts.inputs : node.parts.outputs).indexOf(port);
        const slot = slots[index] as { link?: number | null; links?: number[] | null } | undefined;
        return typeof slot?.link === "number" || (slot?.links?.length ?? 0) > 0;
      },
      isDimmed: (port, side) =>
        dragged !== null && !this.#isCompatible(dragged, node.name, port.name, side),
      picture: this.#annotations.pictures.get(node.name) ?? null,
      outputValue: (output) =>
        node.selected ? (this.#annotations.values.get(`${node.name}.${output}`) ?? null) : null,
      hasBreakpoint: (output) => this.#annotations.breakpoints.has(`${node.name}.${output}`),
    };
  }

  #budgetOf(id: string): NodeBudget | null {
    const { budget } = this.#annotations;
    const times = budget?.nodes.get(id);
    if (!budget || !times) return null;
    return { times, frameUs: budget.frameUs, missed: budget.missed?.nodes.get(id) ?? 0 };
  }

  #isCompatible(dragged: DraggedLink, id: string, socket: string, side: "in" | "out"): boolean {
    if (dragged.end.node === id)
      return dragged.end.socket === socket && (side === "out") === (dragged.side === "output");
    if ((side === "in") !== (dragged.side === "output")) return false;
    const key = `${dragged.end.node}.${dragged.end.socket}>${id}.${socket}`;
    const here = { node: id, socket };
    const link =
      dragged.side === "output" ? { from: dragged.end, to: here } : { from: here, to: dragged.end };
    const known = this.#allowedLinks.get(key);
    if (known !== undefined) return known;
    const isAllowed = this.events.mayLink(link);
    this.#allowedLinks.set(key, isAllowed);
    return isAllowed;
  }

  get selection(): readonly string[] {
    return [...this.#canvas.selectedItems].flatMap((item) =>
      item instanceof BoardNode ? [item.name] : [],
    );
  }

  get selectedGroups(): readonly number[] {
    return [...this.#canvas.selectedItems].flatMap((item) =>
      item instanceof BoardGroup ? [item.index] : [],
    );
  }

  select(ids: readonly string[]): void {
    const before = this.selection;
    const nodes = ids.flatMap((id) => this.#nodes.get(id) ?? []);
    if (same([...before].sort(), [...ids].sort())) {
      for (const node of nodes) {
        this.#canvas.deselect(node); // the links are new objects, which are not highlighted yet
        this.#canvas.select(node);
      }
      return;
    }
    this.#canvas.deselectAll();
    for (const node of nodes) this.#canvas.select(node);
    this.events.selected(this.selection);
    this.redraw();
  }

  /** Show data at nodes: their status in a run, faults, values of outputs. */
  annotate(annotations: Partial<NodeAnnotations>): void {
    this.#annotations = { ...this.#annotations, ...annotations };
    this.#canvas.setDirty(true);
  }

  /** Go on showing a link that was dropped on empty canvas; null ends this. */
  showPendingLink(dragged: DraggedLink | null, to: Point): void {
    this.#canvas.pending = dragged && { dragged, to };
    this.#canvas.setDirty(true);
  }

  retheme(): void {
    this.#context.theme = readTheme();
    this.redraw();
  }

  redraw(): void {
    this.#allowedLinks.clear();
    this.#canvas.setDirty(true, true);
  }

  /** Resize the canvas. If the view showed the whole graph, it still does. */
  resize(width: number, height: number): void {
    const isFitted = same(this.#fitted, this.#canvas.ds.state);
    this.#setSize(width, height);
    if (isFitted) this.fit();
    this.#canvas.draw(true, true);
  }

  #setSize(width: number, height: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(height * ratio);
    this.element.getContext("2d")!.scale(ratio, ratio);
  }

  /** Paint the whole workflow on a canvas of its own, with these pictures on the screens of nodes. */
  picture(pictures: NodeAnnotations["pictures"]): HTMLCanvasElement {
    const { ds } = this.#canvas;
    const { scale, offset } = this.view;
    const ratio = window.devicePixelRatio || 1;
    const size = [this.element.width / ratio, this.element.height / ratio] as const;
    const [left, top, width, height] = boundsOf(this.#everything);
    const fitting = PICTURE_SIDE / ratio / Math.max(width, height + LANE);
    ds.scale = Math.min(1, fitting);
    const margin = PICTURE_MARGIN / ds.scale;
    ds.offset = [margin - left, margin - top];
    const picture = document.createElement("canvas");
    const annotations = this.#annotations;
    this.#annotations = { ...annotations, pictures };
    this.#isPainting = true;
    try {
      this.#setSize((width + 2 * margin) * ds.scale, (height + LANE + 2 * margin) * ds.scale);
      this.#canvas.draw(true, true);
      Object.assign(picture, { width: this.element.width, height: this.element.height });
      const ctx = picture.getContext("2d")!;
      ctx.fillStyle = this.#context.theme.canvas;
      ctx.fillRect(0, 0, picture.width, picture.height);
      ctx.drawImage(this.element, 0, 0);
    } finally {
      this.#isPainting = false;
      this.#annotations = annotations;
      ds.scale = scale;
      ds.offset = [offset[0], offset[1]];
      this.#setSize(...size);
      this.#canvas.draw(true, true);
    }
    return picture;
  }

  /** The boxes of all nodes and groups. */
  get #everything(): readonly Box[] {
    const groups = this.#graph.groups as BoardGroup[];
    const all = [
      ...this.boxes.values(),
      ...groups.map(({ _bounding }) => _bounding as unknown as Box),
    ];
    return all.length ? all : [[0, 0, 1, 1]];
  }

  /** The boxes of all nodes in the workflow's coordinates, from back to front. */
  get boxes(): ReadonlyMap<string, Box> {
    return new Map(
      (this.#graph.nodes as unknown as BoardNode[]).map((node) => [node.name, node.box]),
    );
  }

  /** The nodes in view, if they are painted in detail. */
  get detailed(): readonly string[] {
    const { scale, area } = this.view;
    if (scale < DETAIL_SCALE) return [];
    return [...this.boxes].flatMap(([id, box]) => (overlap(box, area) ? [id] : []));
  }

  widthOf(id: string): number | undefined {
    return this.#nodes.get(id)?.givenWidth;
  }

  /** Return the picture that a screen shows until a run sends one; null if there is none. */
  startPicture(id: string): NodePicture | null {
    return this.#annotations.pictures.get(id) ?? null;
  }

  screens(): readonly { id: string; box: Box }[] {
    return [...this.#nodes.values()].flatMap((node) => {
      const { screen } = node.parts;
      return screen
        ? [
            {
              id: node.name,
              box: [node.pos[0] + screen[0], node.pos[1] + screen[1], screen[2], screen[3]] as Box,
            },
          ]
        : [];
    });
  }

  /** Return the value on the wires that leave an output, "node.socket"; null if none is shown. */
  wireValue(output: string): WireValue | null {
    return this.#annotations.wireValues?.get(output) ?? null;
  }

  /** The nodes with wires in view that leave them, if values on wires can be read. */
  get wireSources(): readonly string[] {
    return this.view.scale < DETAIL_SCALE ? [] : this.#canvas.wireSources;
  }

  /** The places on wires of the pictures of nodes that have no screen, if they can be seen. */
  wirePictures(): readonly { id: string; box: Box }[] {
    return this.view.scale < DETAIL_SCALE ? [] : this.#canvas.wirePictures;
  }

  /** Return the position of a socket on the page; null if the node has none of that name. */
  socketAt(id: string, side: "in" | "out", name: string): Point | null {
    const node = this.#nodes.get(id);
    const port = (side === "in" ? node?.parts.inputs : node?.parts.outputs)?.findLast(
      (each) => each.name === name,
    );
    return node && port
      ? this.toClient([node.pos[0] + (side === "in" ? 0 : node.parts.width), node.pos[1] + port.y])
      : null;
  }

  /** Return the box of a widget or a brain on the page; null if it is not shown on the node. */
  partBox(id: string, part: { part: "widget"; name: string } | { part: "brain" }): Box | null {
    const node = this.#nodes.get(id);
    const row =
      part.part === "widget" ? node?.parts.rows.find(({ name }) => name === part.name) : undefined;
    const top = part.part === "brain" ? node?.parts.brain?.y : row && row.y - 12;
    if (!node || top === undefined) return null;
    const [x, y] = this.toClient([node.pos[0] + 8, node.pos[1] + top]);
    const { scale } = this.view;
    return [x, y, (node.parts.width - 16) * scale, 24 * scale];
  }

  get view(): { scale: number; offset: Point; area: Box } {
    const { scale, offset } = this.#canvas.ds;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [
      this.element.width / ratio / scale,
      this.element.height / ratio / scale,
    ];
    return { scale, offset: [offset[0], offset[1]], area: [-offset[0], -offset[1], width, height] };
  }

  toClient([x, y]: Point): Point {
    const { scale, offset } = this.view;
    const { left, top } = this.element.getBoundingClientRect();
    return [left + (x + offset[0]) * scale, top + (y + offset[1]) * scale];
  }

  fromClient([x, y]: Point): Point {
    const { scale, offset } = this.view;
    const { left, top } = this.element.getBoundingClientRect();
    return [(x - left) / scale - offset[0], (y - top) / scale - offset[1]];
  }

  nodeAt(client: Point): string | null {
    const [x, y] = this.fromClient(client);
    return (this.#graph.getNodeOnPos(x, y) as unknown as BoardNode | null)?.name ?? null;
  }

  /** Centre the view on a point. */
  centre([x, y]: Point): void {
    const { area } = this.view;
    this.#canvas.ds.offset = [area[2] / 2 - x, area[3] / 2 - y];
    this.redraw();
  }

  /** Centre the view on a node unless it shows all of it. */
  reveal(id: string): void {
    const box = this.boxes.get(id);
    if (!box || isWithin(box, this.view.area)) return;
    const [x, y, width, height] = box;
    this.centre([x + width / 2, y + height / 2]);
  }

  zoom(factor: number): void {
    const { left, top, width, height } = this.element.getBoundingClientRect();
    this.#canvas.ds.changeScale(this.#canvas.ds.scale * factor, [
      left + width / 2,
      top + height / 2,
    ]);
    this.redraw();
  }

  /** Fit the view to these nodes, or to all of them, at a scale of at most 1; to nothing at 1. */
  fit(ids?: readonly string[]): void {
    const boxes = ids?.length ? ids.map((id) => this.boxes.get(id)!) : [...this.boxes.values()];
    if (boxes.length === 0) {
      this.#canvas.ds.reset();
      this.redraw();
      return;
    }
    const [left, top, width, height] = boundsOf(boxes);
    const ratio = window.devicePixelRatio || 1;
    const [viewWidth, viewHeight] = [this.element.width / ratio, this.element.height / ratio];
    const scale = Math.min(1, (viewWidth - 112) / width, (viewHeight - 64) / (height + LANE));
    this.#canvas.ds.scale = Math.max(0.1, scale);
    this.centre([left + width / 2, top + (height + LANE) / 2]);
    this.#fitted = ids?.length
      ? null
      : { scale: this.#canvas.ds.scale, offset: [...this.#canvas.ds.offset] };
  }

  /** Show a workflow that was just opened: all of it if it can be read then, or else its upper left part. */
  showOpened(): void {
    this.fit();
    const { ds } = this.#canvas;
    if (ds.scale >= READABLE_SCALE || this.boxes.size === 0) return;
    ds.scale = READABLE_SCALE;
    const [left, top, width, height] = boundsOf([...this.boxes.values()]);
    const { area } = this.view;
    this.centre([startOrMiddle(left, width, area[2]), startOrMiddle(top, height + LANE, area[3])]);
    this.#fitted = null;
  }

  /** Listen for clicks on widgets and brains of nodes. */
  listenForPartClicks(): void {
    this.element.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0 || this.view.scale < DETAIL_SCALE) return;
        const { pointer } = this.#canvas;
        const select = pointer.onClick;
        const at = this.fromClient([event.clientX, event.clientY]);
        const node = this.#graph.getNodeOnPos(at[0], at[1]) as unknown as BoardNode | null;
        const part = node && partAt(node.parts, at[0] - node.pos[0], at[1] - node.pos[1]);
        if (!node || !part || this.#canvas.linkConnector.isConnecting || pointer.resizeDirection)
          return;
        pointer.onClick = (up) => {
          select?.(up);
          this.events.part(node.name, part, this.partBox(node.name, part)!);
        };
      },
      true,
    );
  }
}

/** Return the smallest box around all boxes. */
function boundsOf(boxes: readonly Box[]): Box {
  const left = Math.min(...boxes.map(([x]) => x));
  const top = Math.min(...boxes.map(([, y]) => y));
  const right = Math.max(...boxes.map(([x, , w]) => x + w));
  const bottom = Math.max(...boxes.map(([, y, , h]) => y + h));
  return [left, top, right - left, bottom - top];
}

/** Return the middle of a view along one axis that shows all of an extent, or else its start. */
function startOrMiddle(start: number, length: number, view: number): number {
  const margin = OPENED_MARGIN / READABLE_SCALE;
  if (length + 2 * margin <= view) return start + length / 2;
  return start - margin + view / 2;
}
