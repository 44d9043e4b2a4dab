/**
 * This folder is the one place that knows litegraph. The workflow is the truth and the graph is drawn from it: gestures
 * become events with ids and sockets, the owner changes the workflow and calls `show` again. Of the library we use
 * panning, zooming, selecting and dragging; painting, menus, prompts, keys and the checking of links are ours.
 */

import type { CanvasPointerEvent, LGraphNode } from "@comfyorg/litegraph";
import { CanvasPointer, LGraph, LiteGraph, LLink } from "@comfyorg/litegraph";

import type { Look } from "../canvas/paint";
import { partAt } from "../canvas/shape";
import { readTheme } from "../canvas/theme";
import { areNotable, savingsText } from "../live/savings";
import type { Catalog } from "../model/catalog";
import { same } from "../model/json";
import type { Box, Link, Point, Workflow } from "../model/workflow";
import { groupsOf, links, modeOf, nameOf, placeOf, readGroup, sources, typeName } from "../model/workflow";
import { BoardCanvas, looseOf, point } from "./canvas";
import type { BoardEvents, Loose, Notes } from "./events";
import { BoardGroup, BoardNode, type Scene, snap } from "./node";

/** Room below the nodes for wires that go back. */
const LANE = 48;

export class Board {
  readonly #graph = new LGraph();
  readonly #canvas: BoardCanvas;
  readonly #nodes = new Map<string, BoardNode>();
  readonly #scene: Scene;
  #workflow: Workflow | null = null;
  #notes: Notes = { run: new Map(), faults: new Map(), values: new Map() };
  /** The view as `fit` left it. */
  #fitted: object | null = null;
  readonly #mayLink = new Map<string, boolean>();

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
    LiteGraph.isValidConnection = () => false; // `mayLink` decides
    this.#scene = { theme: readTheme(), events, look: (node) => this.#look(node) };
    this.#canvas = new BoardCanvas(element, this.#graph, { skip_render: true });
    Object.assign(this.#canvas, {
      scene: this.#scene,
      allow_searchbox: false,
      show_info: false,
      render_canvas_border: false,
      background_image: "",
      clear_background_color: "",
      zoom_speed: 1.08,
      render_link_tooltip: false,
      autoresize: false,
    });
    this.#canvas.ds.max_scale = 2.5;
    this.#canvas.ds.min_scale = 0.08;
    this.#canvas.linkConnector.dropLinks = (_, event) => this.#drop(event);
    this.#canvas.onSelectionChange = () => events.selected(this.selection);
    this.#canvas.onDrawBackground = (ctx) => this.#canvas.drawDots(ctx);
    this.#canvas.onDrawForeground = (ctx) => {
      this.#canvas.drawPending(ctx);
      events.drawn();
    };
    this.#graph.onAfterChange = () => undefined;
    element.addEventListener("litegraph:canvas", (event) => this.#canvasEvent((event as CustomEvent).detail));
    element.addEventListener("pointermove", (event) => {
      this.#watchDrag();
      this.#showTip(this.fromClient([event.clientX, event.clientY]));
    });
    element.addEventListener("pointerup", () => queueMicrotask(() => this.#readBack()), true); // the library stops it there
    this.#canvas.startRendering();
  }

  #canvasEvent(detail: { subType: string; originalEvent?: CanvasPointerEvent; node?: LGraphNode }): void {
    const event = detail.originalEvent;
    if (!event) return;
    if (detail.subType === "empty-double-click") this.events.search(point(event), [event.clientX, event.clientY]);
    if (detail.subType === "group-double-click") this.#canvas.processContextMenu(undefined, event);
    if (detail.subType === "node-double-click") this.events.open((detail.node as unknown as BoardNode).name);
  }

  /** Draw this workflow: only what differs from the last one is touched. */
  show(workflow: Workflow, catalog: Catalog = this.catalog): void {
    const before = catalog === this.catalog ? this.#workflow : null;
    this.catalog = catalog;
    this.#workflow = workflow;
    const selected = new Set(this.selection);
    const used = this.#usedOutputs(workflow);
    const usedBefore = before ? this.#usedOutputs(before) : new Map<string, string[]>();
    const rewire = before === null || before.nodes !== workflow.nodes;
    for (const [name, node] of [...this.#nodes]) {
      if (Object.hasOwn(workflow.nodes, name)) continue;
      this.#unwire();
      this.#graph.remove(node);
      this.#nodes.delete(name);
    }
    if (rewire) this.#unwire();
    let unplaced = 0;
    for (const [name, entry] of Object.entries(workflow.nodes)) {
      const node = this.#nodes.get(name) ?? this.#addNode(name);
      const place = placeOf(workflow, name);
      const isSame =
        before && node.entry === entry && node.givenWidth === place?.width && same(used.get(name), usedBefore.get(name));
      if (!isSame) node.update(entry, catalog.find(entry.type), place?.width, used.get(name) ?? []);
      const at = place?.at ?? ([80 + (unplaced % 5) * 260, 80 + Math.floor(unplaced++ / 5) * 220] as Point);
      node.pos = [at[0], at[1]];
    }
    if (rewire) this.#wire(workflow);
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

  #unwire(): void {
    this.#graph.links.clear();
    for (const node of this.#nodes.values()) {
      for (const input of node.inputs) input.link = null;
      for (const output of node.outputs) output.links = null;
    }
  }

  #wire(workflow: Workflow): void {
    let id = 0;
    this.#canvas.highlighted_links = {};
    for (const [name, entry] of Object.entries(workflow.nodes)) {
      const target = this.#nodes.get(name)!;
      for (const [slot, port] of target.parts.inputs.entries()) {
        const end = sources(entry, port.name)[port.index];
        const source = end && this.#nodes.get(end.node);
        const output = source ? source.parts.outputs.findIndex((each) => each.name === end.socket) : -1;
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
    const shown = this.#graph.groups as BoardGroup[];
    const there = wanted.flatMap((group, index) => (group ? [{ ...group, index }] : []));
    while (shown.length > there.length) this.#graph.remove(shown.at(-1)!);
    for (const [i, { title, bounds, index }] of there.entries()) {
      if (!shown[i]) this.#graph.add(new BoardGroup(title));
      const group = (this.#graph.groups as BoardGroup[])[i]!;
      Object.assign(group, { title, index, scene: this.#scene });
      group.pos = [bounds[0], bounds[1]];
      group.size = [bounds[2], bounds[3]];
    }
  }

  /** After a gesture: where nodes and groups are now. */
  #readBack(): void {
    const workflow = this.#workflow;
    if (!workflow) return;
    const places = new Map<string, { at: Point; width?: number | undefined }>();
    for (const [name, node] of this.#nodes) {
      const before = placeOf(workflow, name);
      if (before && before.at[0] === node.pos[0] && before.at[1] === node.pos[1] && before.width === node.givenWidth) continue;
      if (!before && !node.selected) continue;
      places.set(name, { at: [snap(node.pos[0]), snap(node.pos[1])], width: node.givenWidth });
    }
    const groups = new Map<number, Box>();
    for (const group of this.#graph.groups as BoardGroup[]) {
      const [x, y, w, h] = group._bounding as unknown as [number, number, number, number];
      const before = readGroup(groupsOf(workflow)[group.index]!)!;
      if (!same(before.bounds.map(Math.round), [x, y, w, h].map(Math.round))) groups.set(group.index, [x, y, w, h]);
    }
    const link = this.#canvas.wireUnderNode;
    this.#canvas.wireUnderNode = null;
    if (places.size || groups.size) this.events.moved(places, groups);
    if (link && places.size === 1) this.events.insert([...places.keys()][0]!, link);
  }

  /** While one unlinked node is dragged, the wire beneath it lights up. */
  #watchDrag(): void {
    const canvas = this.#canvas;
    const only = canvas.isDragging && canvas.selectedItems.size === 1 ? [...canvas.selectedItems][0] : null;
    let found: Link | null = null;
    if (
      only instanceof BoardNode &&
      !only.inputs.some((slot) => slot.link !== null) &&
      !only.outputs.some((slot) => slot.links?.length)
    ) {
      const [x, y, w, h] = only.box;
      found = canvas.linkAt([x + w / 2, y + Math.min(h / 2, 30)], Math.min(h, 48), only);
    }
    if (!same(found, canvas.wireUnderNode)) canvas.setDirty(true, true);
    canvas.wireUnderNode = found;
  }

  /** The page's own tooltip says what the socket under the pointer is, or what caches saved the node. */
  #showTip(at: Point): void {
    const node = this.#graph.getNodeOnPos(at[0], at[1]) as unknown as BoardNode | null;
    const tip =
      this.#canvas.isDragging || !node ? "" : node.tipAt(at) || savingsText(this.#notes.run.get(node.name)?.savings ?? []);
    if (this.element.title !== tip) this.element.title = tip;
  }

  #drop(event: CanvasPointerEvent): void {
    const loose = looseOf(this.#canvas);
    if (!loose) return;
    const node = this.#graph.getNodeOnPos(event.canvasX, event.canvasY) as unknown as BoardNode | null;
    const at = point(event);
    this.#mayLink.clear();
    const target = node && { id: node.name, socket: this.#socketAt(node, loose, at) };
    this.events.linked(loose, target, at, [event.clientX, event.clientY]);
  }

  #socketAt(node: BoardNode, loose: Loose, [, y]: Point): string | null {
    const ports = loose.side === "output" ? node.parts.inputs : node.parts.outputs;
    return ports.find((port) => Math.abs(node.pos[1] + port.y - y) <= 12)?.name ?? null;
  }

  #look(node: BoardNode): Look {
    const { entry, kind } = node;
    const run = this.#notes.run.get(node.name);
    const title = nameOf(node.name, entry);
    const type = typeName(entry.type);
    const loose = this.#canvas.linkConnector.isConnecting ? looseOf(this.#canvas) : null;
    return {
      title,
      subtitle: type,
      unknown: kind === undefined,
      mode: modeOf(entry),
      selected: node.selected === true,
      state: run?.state ?? null,
      ms: run?.ms ?? null,
      isSaved: run !== undefined && areNotable(run.savings),
      fault: run?.error ?? this.#notes.faults.get(node.name) ?? null,
      linked: (port, side) => {
        const slots = side === "in" ? node.inputs : node.outputs;
        const index = (side === "in" ? node.parts.inputs : node.parts.outputs).indexOf(port);
        const slot = slots[index] as { link?: number | null; links?: number[] | null } | undefined;
        return typeof slot?.link === "number" || (slot?.links?.length ?? 0) > 0;
      },
      dims: (port, side) => loose !== null && !this.#fits(loose, node.name, port.name, side),
      values: (output) => this.#notes.values.get(`${node.name}.${output}`) ?? null,
    };
  }

  #fits(loose: Loose, id: string, socket: string, side: "in" | "out"): boolean {
    if (loose.end.node === id) return loose.end.socket === socket && (side === "out") === (loose.side === "output");
    if ((side === "in") !== (loose.side === "output")) return false;
    const key = `${loose.end.node}.${loose.end.socket}>${id}.${socket}`;
    const here = { node: id, socket };
    const link = loose.side === "output" ? { from: loose.end, to: here } : { from: here, to: loose.end };
    const known = this.#mayLink.get(key);
    if (known !== undefined) return known;
    const may = this.events.mayLink(link);
    this.#mayLink.set(key, may);
    return may;
  }

  get selection(): readonly string[] {
    return [...this.#canvas.selectedItems].flatMap((item) => (item instanceof BoardNode ? [item.name] : []));
  }

  get selectedGroups(): readonly number[] {
    return [...this.#canvas.selectedItems].flatMap((item) => (item instanceof BoardGroup ? [item.index] : []));
  }

  select(ids: readonly string[]): void {
    const before = this.selection;
    const nodes = ids.flatMap((id) => this.#nodes.get(id) ?? []);
    if (same([...before].sort(), [...ids].sort())) {
      for (const node of nodes) {
        this.#canvas.deselect(node); // links were made anew: light them up again
        this.#canvas.select(node);
      }
      return;
    }
    this.#canvas.deselectAll();
    for (const node of nodes) this.#canvas.select(node);
    this.events.selected(this.selection);
    this.redraw();
  }

  /** What is known about nodes besides the workflow: how they run, what is wrong, what flows. */
  annotate(notes: Partial<Notes>): void {
    this.#notes = { ...this.#notes, ...notes };
    this.#canvas.setDirty(true);
  }

  /** Keep showing a wire that was let go, or no longer. */
  hold(loose: Loose | null, to: Point): void {
    this.#canvas.pending = loose && { loose, to };
    this.#canvas.setDirty(true);
  }

  retheme(): void {
    this.#scene.theme = readTheme();
    this.redraw();
  }

  redraw(): void {
    this.#mayLink.clear();
    this.#canvas.setDirty(true, true);
  }

  /** The canvas has another size. A view that shows everything goes on doing so. */
  resize(width: number, height: number): void {
    const isFitted = same(this.#fitted, this.#canvas.ds.state);
    const ratio = window.devicePixelRatio || 1;
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(height * ratio);
    this.element.getContext("2d")!.scale(ratio, ratio);
    if (isFitted) this.fit();
    this.#canvas.draw(true, true);
  }

  /** Where things are, for overlays, the minimap and tests: boxes in the workflow's coordinates, front to back last. */
  get boxes(): ReadonlyMap<string, Box> {
    return new Map((this.#graph.nodes as unknown as BoardNode[]).map((node) => [node.name, node.box]));
  }

  widthOf(id: string): number | undefined {
    return this.#nodes.get(id)?.givenWidth;
  }

  screens(): readonly { id: string; box: Box }[] {
    return [...this.#nodes.values()].flatMap((node) => {
      const { screen } = node.parts;
      return screen
        ? [{ id: node.name, box: [node.pos[0] + screen[0], node.pos[1] + screen[1], screen[2], screen[3]] as Box }]
        : [];
    });
  }

  /** The page position of a socket; null if the node has none of that name. */
  socketAt(id: string, side: "in" | "out", name: string): Point | null {
    const node = this.#nodes.get(id);
    const port = (side === "in" ? node?.parts.inputs : node?.parts.outputs)?.findLast((each) => each.name === name);
    return node && port ? this.toClient([node.pos[0] + (side === "in" ? 0 : node.parts.width), node.pos[1] + port.y]) : null;
  }

  get view(): { scale: number; offset: Point; area: Box } {
    const { scale, offset } = this.#canvas.ds;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.element.width / ratio / scale, this.element.height / ratio / scale];
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

  /** Bring a point to the middle of the view. */
  centre([x, y]: Point): void {
    const { area } = this.view;
    this.#canvas.ds.offset = [area[2] / 2 - x, area[3] / 2 - y];
    this.redraw();
  }

  zoom(factor: number): void {
    const { left, top, width, height } = this.element.getBoundingClientRect();
    this.#canvas.ds.changeScale(this.#canvas.ds.scale * factor, [left + width / 2, top + height / 2]);
    this.redraw();
  }

  /** Show these nodes, or all of them, whole; never larger than life. */
  fit(ids?: readonly string[]): void {
    const boxes = ids?.length ? ids.map((id) => this.boxes.get(id)!) : [...this.boxes.values()];
    if (boxes.length === 0) return;
    const left = Math.min(...boxes.map(([x]) => x));
    const top = Math.min(...boxes.map(([, y]) => y));
    const width = Math.max(...boxes.map(([x, , w]) => x + w)) - left;
    const height = Math.max(...boxes.map(([, y, , h]) => y + h)) - top;
    const ratio = window.devicePixelRatio || 1;
    const [viewWidth, viewHeight] = [this.element.width / ratio, this.element.height / ratio];
    const scale = Math.min(1, (viewWidth - 112) / width, (viewHeight - 64) / (height + LANE));
    this.#canvas.ds.scale = Math.max(0.1, scale);
    this.centre([left + width / 2, top + (height + LANE) / 2]);
    this.#fitted = ids?.length ? null : { scale: this.#canvas.ds.scale, offset: [...this.#canvas.ds.offset] };
  }

  /** A click on a widget's row or on the brain of a node. */
  watchParts(): void {
    this.element.addEventListener(
      "pointerdown",
      (event) => {
        if (event.button !== 0) return;
        const { pointer } = this.#canvas;
        const select = pointer.onClick;
        const at = this.fromClient([event.clientX, event.clientY]);
        const node = this.#graph.getNodeOnPos(at[0], at[1]) as unknown as BoardNode | null;
        const part = node && partAt(node.parts, at[0] - node.pos[0], at[1] - node.pos[1]);
        if (!node || !part || this.#canvas.linkConnector.isConnecting || pointer.resizeDirection) return;
        pointer.onClick = (up) => {
          select?.(up);
          const y = part.part === "brain" ? node.parts.brain!.y : node.parts.rows.find((row) => row.name === part.name)!.y - 12;
          const [x0, y0] = this.toClient([node.pos[0] + 8, node.pos[1] + y]);
          const { scale } = this.view;
          this.events.part(node.name, part, [x0, y0, (node.parts.width - 16) * scale, 24 * scale]);
        };
      },
      true,
    );
  }
}
