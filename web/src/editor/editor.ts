/** All edits of a workflow, from the mouse, the keyboard and the menus. Owns the document, the board and the checks. */

import { api, type Fault, faultText, type Part, RequestError } from "../api";
import { Board } from "../board/board";
import type { BoardEvents, DraggedLink, MenuTarget } from "../board/events";
import { boxesOf, MIN_WIDTH } from "../canvas/shape";
import { boxTypes } from "../model/box_types";
import { type Catalog, inputOf, isReroute } from "../model/catalog";
import {
  copyNodes,
  findFreePosition,
  parseClipboard,
  pasteNodes,
  withSubgraphs,
} from "../model/clipboard";
import {
  inputKind,
  type Linking,
  linkError,
  outputKind,
  UNKNOWN_LINKING,
} from "../model/compatibility";
import * as edits from "../model/edits";
import { isObject, type Json, own, same, withKey } from "../model/json";
import * as subgraphs from "../model/subgraphs";
import { type DraggedEnd, suggest, suggestGames } from "../model/suggest";
import type {
  Box,
  Clock,
  Colour,
  Group,
  Link,
  Mode,
  NodeEntry,
  NodeStyle,
  Point,
  SocketRef,
  Subgraph,
  Workflow,
} from "../model/workflow";
import {
  brainFile,
  brainPin,
  breakpointsOf,
  EMPTY,
  groupsOf,
  links,
  localId,
  modeOf,
  nameOf,
  readGroup,
  sources,
  styleOf,
  typeName,
} from "../model/workflow";
import { clearMessages, showMessage } from "../ui/overlay";
import { OpenDocument } from "./document";
import { Games } from "./games";

const CHECK_MS = 150;
const GROUP_PAD = 24;
const GROUP_TOP = 48;
/** Width and height of a new note. */
const NOTE = [272, 136] as const;

export interface EditorCallbacks {
  /** Open the palette. The chosen node is put at `at`, and linked to the dragged end if there is one. */
  palette(at: Point, client: Point, dragged: DraggedLink | null): void;
  menu(target: MenuTarget, at: Point, client: Point): void;
  part(id: string, part: { part: "widget"; name: string } | { part: "brain" }, client: Box): void;
  open(id: string): void;
  drawn(): void;
}

type Topic = "document" | "selection" | "faults" | "linking" | "path";

export class Editor {
  readonly document = new OpenDocument();
  readonly board: Board;
  readonly games: Games;
  /** The user's parts that can be inserted. */
  parts: readonly Part[] = [];
  faults: readonly Fault[] = [];
  linking: Linking = UNKNOWN_LINKING;
  readonly #listeners = new Map<Topic, Set<() => void>>();
  #checkTimer: ReturnType<typeof setTimeout> | undefined;
  #checkCount = 0;
  #checked: Workflow | null = null;
  #clipboard = "";
  /** The path of the box whose inside is shown; "": none. */
  #path = "";
  #inside: { readonly whole: Workflow; readonly workflow: Workflow } | null = null;
  #loadCount = 0;

  constructor(
    canvas: HTMLCanvasElement,
    readonly catalog: Catalog,
    callbacks: EditorCallbacks,
  ) {
    this.games = new Games(catalog);
    const events: BoardEvents = {
      moved: (places, groups) => this.#moved(places, groups),
      insert: (id, link) => this.insert(id, link),
      linked: (dragged, target, at, client) => this.#linked(dragged, target, at, client, callbacks),
      menu: (target, at, client) => callbacks.menu(target, at, client),
      search: (at, client) => callbacks.palette(at, client, null),
      part: (id, part, client) => callbacks.part(id, part, client),
      open: (id) => callbacks.open(id),
      selected: () => this.#emit("selection"),
      drawn: () => callbacks.drawn(),
      mayLink: (link) => this.linkError(link) === null,
    };
    this.board = new Board(canvas, catalog, events);
    this.board.listenForPartClicks();
    this.document.onChange((whole) => {
      this.catalog.setBoxTypes(boxTypes(whole.defs));
      this.#findPath(whole);
      this.board.show(this.workflow);
      this.board.annotate({ breakpoints: breakpointsOf(whole) });
      this.#emit("document");
      clearTimeout(this.#checkTimer);
      this.#checkTimer = setTimeout(() => void this.check(), CHECK_MS);
    });
  }

  on(topic: Topic, listener: () => void): void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
  }

  #emit(topic: Topic): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener();
  }

  /** The workflow that is shown: the open one, or the inside of one of its boxes. */
  get workflow(): Workflow {
    const whole = this.document.workflow;
    if (this.#path === "") return whole;
    if (this.#inside?.whole !== whole)
      this.#inside = { whole, workflow: subgraphs.insideOf(whole, this.#path) ?? whole };
    return this.#inside.workflow;
  }

  /** The selected nodes, without those that stand for the border of a box. */
  get selection(): readonly string[] {
    return this.board.selection.filter((id) => !subgraphs.isBorder(id));
  }

  /** Show what is still there of the path of boxes; another workflow is shown from outside. */
  #findPath(whole: Workflow): void {
    const before = this.#path;
    if (this.document.loadCount !== this.#loadCount) this.#path = "";
    this.#loadCount = this.document.loadCount;
    while (this.#path && subgraphs.subgraphAt(whole, this.#path) === null)
      this.#path = this.#path.split("/").slice(0, -1).join("/");
    this.#inside = null;
    if (this.#path !== before) queueMicrotask(() => this.#emit("path"));
  }

  /** Change the workflow that is shown; returns the whole one. */
  #commit(
    next: Workflow,
    gesture: string | null = null,
    renamed: readonly [string, string] | null = null,
  ): Workflow {
    const whole = this.#path
      ? subgraphs.withInside(this.document.workflow, this.#path, next, renamed)
      : next;
    const used = subgraphs.withoutUnused(whole);
    this.document.commit(used, gesture);
    return used;
  }

  // boxes

  /** The path of the box whose inside is shown; "": none. */
  get path(): string {
    return this.#path;
  }

  /** Show the inside of a box; with "", the workflow that all boxes are in. */
  enter(path: string): void {
    if (path === this.#path) return;
    const from = this.#path;
    this.#path = path;
    this.#findPath(this.document.workflow);
    this.board.select([]);
    this.board.show(this.workflow);
    this.setFaults(this.faults);
    this.board.showOpened();
    const prefix = path && `${path}/`;
    if (from.startsWith(prefix)) {
      const below = from.slice(prefix.length).split("/")[0]!; // the box that was left
      if (this.entry(prefix + below)) this.board.select([prefix + below]);
    }
    this.#emit("path");
    this.#emit("selection");
  }

  /** Show what is around the box whose inside is shown. */
  leave(): void {
    this.enter(this.#path.split("/").slice(0, -1).join("/"));
  }

  /** Select a node, wherever it is, and show it. */
  goTo(id: string): boolean {
    if (!subgraphs.entryAt(this.document.workflow, id)) return false;
    this.enter(id.split("/").slice(0, -1).join("/"));
    this.board.select([id]);
    this.board.reveal(id);
    return true;
  }

  /** Return the node that is shown and is, or contains, the node of a path; null if none does. */
  shownFor(id: string): string | null {
    const prefix = this.#path && `${this.#path}/`;
    if (!id.startsWith(prefix)) return null;
    return prefix + id.slice(prefix.length).split("/")[0]!;
  }

  /** The displayed name of the box at a path: its title, or that of its subgraph, or its id. */
  titleAt(path: string): string {
    const whole = this.document.workflow;
    const name = subgraphs.subgraphAt(whole, path);
    const entry = subgraphs.entryAt(whole, path);
    return entry?.title || (name && whole.defs?.[name]?.title) || localId(path);
  }

  /** Return the number of boxes of a subgraph in the whole workflow, counting those inside of others once. */
  boxesOf(name: string): number {
    return subgraphs.boxesOf(this.document.workflow, name);
  }

  isBox(id: string | undefined): boolean {
    const entry = id === undefined ? undefined : this.entry(id);
    return subgraphs.subgraphOf(this.workflow, entry) !== undefined;
  }

  /** The subgraph whose inside is shown, with its name; null: none. */
  get subgraph(): { readonly name: string; readonly subgraph: Subgraph } | null {
    const whole = this.document.workflow;
    const name = this.#path ? subgraphs.subgraphAt(whole, this.#path) : null;
    return name === null ? null : { name, subgraph: whole.defs![name]! };
  }

  /** Put the selected nodes into a box, and select it. */
  makeBox(title: string): void {
    if (this.selection.length === 0) return;
    const id = edits.freeId(this.workflow, title);
    this.#commit(subgraphs.makeBox(this.workflow, this.selection, id, title));
    this.board.select([id]);
  }

  /** Put the nodes of the selected boxes in their place, and select them. */
  unpack(): void {
    let next = this.workflow;
    const shown: string[] = [];
    for (const id of this.selection.filter((each) => this.isBox(each))) {
      const freeId = (wanted: string, taken: ReadonlySet<string>) =>
        edits.freeId(next, wanted, taken);
      const { workflow, ids } = subgraphs.unpackBox(next, id, freeId);
      next = workflow;
      shown.push(...ids);
    }
    this.#commit(next);
    this.board.select(shown);
  }

  /** Change a key of the subgraph whose inside is shown. */
  setSubgraphKey(key: "title" | "description", value: string | undefined, isFinal: boolean): void {
    const shown = this.subgraph;
    if (!shown) return;
    const whole = this.document.workflow;
    const subgraph = withKey(shown.subgraph, key, value);
    const defs = withKey(whole.defs!, shown.name, subgraph);
    this.document.commit({ ...whole, defs }, `${shown.name}.${key}`);
    if (isFinal) this.document.endGesture();
  }

  /** Rename a socket or a widget of the box whose inside is shown, or remove it with null. Returns why not. */
  renamePart(part: subgraphs.Part, from: string, to: string | null): string | null {
    const shown = this.subgraph;
    if (!shown || from === to) return null;
    if (to !== null && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(to))
      return "A name has only letters, digits and _, and cannot start with a digit.";
    if (to === "when") return "Every box has a “when” already; give it another name.";
    if (to !== null && Object.hasOwn(shown.subgraph[part] ?? {}, to))
      return `The box has ${to} already.`;
    const whole = this.document.workflow;
    this.document.commit(subgraphs.renamePart(whole, shown.name, part, from, to));
    return null;
  }

  /** The subgraph of the selected box, or that whose inside is shown; null: neither. */
  get chosenSubgraph(): { readonly name: string; readonly subgraph: Subgraph } | null {
    const [id, ...others] = this.selection;
    const name = id && !others.length ? subgraphs.subgraphName(this.entry(id)!.type) : null;
    const subgraph = name ? own(this.document.workflow.defs, name) : undefined;
    return name && subgraph ? { name, subgraph } : this.subgraph;
  }

  /** Note that a subgraph was saved as a part. */
  setPart(name: string, part: string, version: number): void {
    const whole = this.document.workflow;
    const subgraph = own(whole.defs, name);
    if (!subgraph) return;
    this.document.commit({
      ...whole,
      defs: { ...whole.defs, [name]: { ...subgraph, version, part } },
    });
  }

  /** The part that a subgraph was saved as or inserted from, if it has a newer version now; else null. */
  newerPart(subgraph: Subgraph): Part | null {
    const part = this.parts.find(({ name }) => name === subgraph.part);
    const version = part?.defs[part.part]?.version ?? 1;
    return part && version > (subgraph.version ?? 1) ? part : null;
  }

  /** Replace a subgraph by the stored version of its part. */
  updateFromPart(name: string): void {
    const whole = this.document.workflow;
    const subgraph = own(whole.defs, name);
    const part = subgraph && this.newerPart(subgraph);
    if (!part) return;
    const { [part.part]: stored, ...inner } = part.defs;
    const [defs, types] = withSubgraphs(whole, { ...EMPTY, defs: inner });
    const nodes = Object.entries(stored!.nodes).map(
      ([id, entry]) => [id, { ...entry, type: types.get(entry.type) ?? entry.type }] as const,
    );
    const updated = { ...stored!, nodes: Object.fromEntries(nodes), part: part.name };
    const next = { ...whole, defs: { ...defs, [name]: updated } };
    this.document.commit(subgraphs.withoutUnused(next));
  }

  /** The name of a node's widget on the box whose inside is shown; null: it is not shown there. */
  shownWidget(id: string, widget: string): string | null {
    const widgets = Object.entries(this.subgraph?.subgraph.widgets ?? {});
    return widgets.find(([, end]) => end === `${localId(id)}.${widget}`)?.[0] ?? null;
  }

  /** Show a widget of a node on the box around it, or no longer. */
  showWidget(id: string, widget: string, isShown: boolean): void {
    const shown = this.subgraph;
    if (!shown) return;
    const whole = this.document.workflow;
    this.document.commit(subgraphs.showWidget(whole, shown.name, localId(id), widget, isShown));
  }

  entry(id: string): NodeEntry | undefined {
    return own(this.workflow.nodes, id);
  }

  typeOf(id: string) {
    const entry = this.entry(id);
    return entry && this.catalog.find(entry.type);
  }

  /** Return why a link is refused, or null if it is not, according to the server's last check. */
  linkError(link: Link, workflow: Workflow = this.workflow): string | null {
    if (subgraphs.isBorder(link.from.node) && subgraphs.isBorder(link.to.node))
      return "An input of a box cannot lead straight to an output. Put a Reroute between them.";
    return linkError(workflow, this.catalog, this.linking, link);
  }

  /** True if the server has checked the workflow as it is now. */
  get isChecked(): boolean {
    return this.#checked === this.document.workflow;
  }

  /** Have the server check the workflow: show the faults at their nodes, keep the possible links, migrate older nodes. */
  async check(): Promise<readonly Fault[]> {
    const { workflow } = this.document;
    const number = ++this.#checkCount;
    let faults: readonly Fault[] = [];
    let checked = workflow;
    try {
      if (Object.keys(workflow.nodes).length) {
        const {
          faults: found,
          workflow: migrated,
          ...linking
        } = await api.check(workflow, this.document.file);
        faults = found;
        if (number === this.#checkCount) this.#setLinking(linking);
        if (migrated && this.document.workflow === workflow) {
          this.document.migrate(migrated);
          checked = this.document.workflow;
        }
      }
      if (number === this.#checkCount) this.#checked = checked;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      faults = error.status ? [{ message: error.message }] : this.faults;
    }
    if (number === this.#checkCount) this.setFaults(faults);
    return faults;
  }

  setFaults(faults: readonly Fault[]): void {
    this.faults = faults;
    const byNode = new Map<string, string>();
    for (const fault of faults) {
      const shown = fault.node ? this.shownFor(fault.node) : null;
      if (!fault.node || shown === null) continue;
      const before = byNode.get(shown);
      const inside = fault.node.slice(shown.length + 1);
      const text = inside ? `${inside}: ${faultText(fault)}` : faultText(fault);
      byNode.set(shown, before ? `${before} ${text}` : text);
    }
    this.board.annotate({ faults: byNode });
    this.#emit("faults");
  }

  #setLinking(linking: Linking): void {
    if (same(linking, this.linking)) return;
    this.linking = linking;
    this.board.redraw();
    this.#emit("linking");
  }

  faultsOf(id: string): readonly Fault[] {
    const isInside = (node: string) => node === id || node.startsWith(`${id}/`);
    return this.faults.filter((fault) => fault.node && isInside(fault.node));
  }

  // nodes

  /** Add a node at a position; with null, in a free place near the middle of the view, and show it. */
  add(type: string, at: Point | null, set?: NodeEntry["set"]): string {
    if (type.startsWith("parts/")) return this.#addPart(type, at, null);
    const id = edits.idFor(this.workflow, type);
    const entry = this.#newEntry(type, set);
    const place = at ?? this.#freePosition(entry);
    this.#commit(edits.addNode(this.workflow, id, entry, place));
    this.board.select([id]);
    if (at === null) this.board.reveal(id);
    return id;
  }

  /** Add a box of a part, whose subgraph is copied into the workflow, perhaps linked to the dragged end of a link. */
  #addPart(
    type: string,
    at: Point | null,
    linked: { socket: string | null; dragged: DraggedLink } | null,
  ): string {
    const part = this.parts.find(({ name }) => `parts/${name}` === type)!;
    const subgraph = part.defs[part.part]!;
    const entry = { type: `defs/${part.part}`, title: subgraph.title || part.name };
    const clip: Workflow = {
      minibrains: 1,
      nodes: { [part.part]: entry },
      layout: { [part.part]: [0, 0] },
      defs: { ...part.defs, [part.part]: { ...subgraph, part: part.name } },
    };
    const place = at ?? this.#freePosition(entry);
    const { workflow, ids } = pasteNodes(this.workflow, clip, place);
    const id = ids[0]!;
    let next = workflow;
    if (linked?.socket) {
      const { dragged } = linked;
      if (dragged.detached) next = edits.removeLink(next, dragged.detached);
      const here = { node: id, socket: linked.socket };
      const isFrom = dragged.side === "output";
      const link = isFrom ? { from: dragged.end, to: here } : { from: here, to: dragged.end };
      next = edits.addLink(next, link, this.#isMany(next, link.to));
    }
    this.#commit(next);
    this.board.select([id]);
    if (at === null) this.board.reveal(id);
    return id;
  }

  #freePosition(entry: NodeEntry): Point {
    const [, , width, height] = boxesOf({ ...EMPTY, nodes: { entry } }, this.catalog)[0]!;
    const [left, top, viewWidth, viewHeight] = this.board.view.area;
    const near: Point = [left + (viewWidth - width) / 2, top + (viewHeight - height) / 2];
    return findFreePosition([[0, 0, width, height]], [...this.board.boxes.values()], near);
  }

  #newEntry(type: string, set = this.games.settingsOfNew(type)): NodeEntry {
    return { type, ...(set ? { set } : {}) };
  }

  /** Add a node and link it to the dragged end of a link. This is a single step for undo. */
  addLinked(type: string, socket: string | null, at: Point, dragged: DraggedLink): void {
    if (type.startsWith("parts/")) {
      this.#addPart(type, [at[0], at[1] - 48], { socket, dragged });
      return;
    }
    const id = edits.idFor(this.workflow, type);
    const nodeType = this.catalog.find(type);
    const before = dragged.detached
      ? edits.removeLink(this.workflow, dragged.detached)
      : this.workflow;
    const added = edits.addNode(
      before,
      id,
      this.#newEntry(type),
      isReroute(nodeType) ? [at[0] - 20, at[1] - 12] : [at[0], at[1] - 48],
    );
    const here = { node: id, socket: socket ?? "" };
    const link =
      dragged.side === "output" ? { from: dragged.end, to: here } : { from: here, to: dragged.end };
    this.#commit(socket ? edits.addLink(added, link, this.#isMany(added, link.to)) : added);
    this.board.select([id]);
  }

  remove(
    ids: readonly string[] = this.selection,
    groups: readonly number[] = this.board.selectedGroups,
  ): void {
    let next = edits.removeNodes(this.workflow, new Set(ids));
    for (const index of [...groups].sort((a, b) => b - a))
      next = edits.editGroup(next, index, null);
    this.#commit(next);
  }

  rename(id: string, wanted: string): string | null {
    const clean = wanted.trim();
    if (clean === localId(id)) return null;
    if (!/^[a-z0-9_]+$/.test(clean)) return "An id has only a-z, 0-9 and _.";
    const renamed = (this.workflow.prefix ?? "") + clean;
    if (this.entry(renamed)) return `There is a node ${clean} already.`;
    this.#commit(edits.renameNode(this.workflow, id, renamed), null, [id, renamed]);
    this.board.select([renamed]);
    return null;
  }

  setWidget(id: string, name: string, value: Json | undefined, isFinal: boolean): void {
    this.#edit(edits.setWidget(this.workflow, id, name, value), `${id}.set.${name}`, isFinal);
  }

  setKey(id: string, key: string, value: Json | undefined, isFinal = true): void {
    this.#edit(edits.setKey(this.workflow, id, key, value), `${id}.${key}`, isFinal);
  }

  /** Make nodes that use the brain `from`, unless they are pinned to other contents, use `file`. Return their ids. */
  moveBrain(
    from: string,
    file: string,
    kind: string,
    sha256: string | undefined,
  ): readonly string[] {
    const moves = Object.entries(this.workflow.nodes).filter(([id, entry]) => {
      const isMeant = brainFile(entry) === from && this.typeOf(id)?.brain?.kind === kind;
      const pin = brainPin(entry);
      return isMeant && (pin === null || pin === sha256);
    });
    const ids = moves.map(([id]) => id);
    this.#commit(edits.moveBrain(this.workflow, ids, file));
    return ids;
  }

  setWorkflowKey(
    key: "title" | "description" | "run",
    value: Json | undefined,
    isFinal: boolean,
  ): void {
    const next = { ...this.workflow, [key]: value } as Workflow;
    this.#edit(next, `workflow.${key}`, isFinal);
  }

  /** Set the condition on which a run is paused by an output; undefined removes it. */
  setBreakpoint(output: SocketRef, condition: string | undefined): void {
    this.#commit(edits.setBreakpoint(this.workflow, output, condition));
  }

  /** Whether a console runs, which says how long a frame is. */
  get hasConsole(): boolean {
    return this.console !== null;
  }

  /** The path of the first console that runs; null: there is none. */
  get console(): string | null {
    return this.consoleIn(this.document.workflow);
  }

  /** The path of the first console that runs in a workflow; null: there is none. */
  consoleIn(workflow: Workflow): string | null {
    const found = [...subgraphs.flatNodes(workflow)].find(
      ([, entry]) => this.catalog.find(entry.type)?.console && modeOf(entry) === "run",
    );
    return found ? found[0] : null;
  }

  /** The clock of a run from this page: the workflow's own, or else real time if a game is played. */
  get clock(): Clock {
    return this.workflow.run?.clock ?? (this.hasConsole ? "realtime" : "fast");
  }

  set clock(clock: Clock) {
    const run = isObject(this.workflow.run) ? this.workflow.run : {};
    this.setWorkflowKey("run", withKey(run, "clock", clock), true);
  }

  #edit(next: Workflow, gesture: string, isFinal: boolean): void {
    this.#commit(next, gesture);
    if (isFinal) this.document.endGesture();
  }

  /** Mute or bypass nodes; if all of them are in this mode, let them run again. */
  toggleMode(mode: Mode, ids: readonly string[] = this.#withGroups()): void {
    const all = ids.every((id) => modeOf(this.entry(id)!) === mode);
    this.#commit(edits.setMode(this.workflow, ids, all ? "run" : mode));
  }

  #withGroups(): readonly string[] {
    const inGroups = this.board.selectedGroups
      .flatMap((index) => this.inGroup(index))
      .filter((id) => !subgraphs.isBorder(id));
    return [...new Set([...this.selection, ...inGroups])];
  }

  // links

  #isMany(workflow: Workflow, to: SocketRef): boolean {
    return (
      inputOf(this.catalog.find(own(workflow.nodes, to.node)?.type ?? ""), to.socket)?.many ?? false
    );
  }

  /** Make a link, or show why it is refused. The server then checks the whole graph; if the link does not fit, it is undone. */
  async link(link: Link, taken: Link | null = null): Promise<void> {
    const before = taken ? edits.removeLink(this.workflow, taken) : this.workflow;
    const refusal = this.linkError(link, before);
    if (refusal) {
      showMessage(refusal, "error");
      return;
    }
    const next = edits.addLink(before, link, this.#isMany(before, link.to));
    if (next === this.workflow) return;
    const known = this.faults.map(faultText);
    clearMessages();
    const whole = this.#commit(next);
    const faults = await this.check();
    const isOfLink = ({ code, node, socket }: Fault) =>
      code === "dependency_cycle" ||
      (code === "return_type_mismatch" &&
        (node?.startsWith(`${link.to.node}/`) ||
          (node === link.to.node && socket === link.to.socket)));
    const wrong = faults.find((fault) => isOfLink(fault) && !known.includes(faultText(fault)));
    if (wrong && this.document.withdraw(whole))
      showMessage(wrong.node ? `${wrong.node}.${faultText(wrong)}` : faultText(wrong), "error");
  }

  unlink(link: Link): void {
    this.#commit(edits.removeLink(this.workflow, link));
  }

  #linked(
    dragged: DraggedLink,
    target: { id: string; socket: string | null } | null,
    at: Point,
    client: Point,
    callbacks: EditorCallbacks,
  ): void {
    if (!target) {
      if (dragged.detached) this.unlink(dragged.detached);
      else callbacks.palette(at, client, dragged);
      return;
    }
    if (target.id === dragged.end.node && !dragged.detached) return;
    const socket = target.socket ?? this.#bestSocket(dragged, target.id);
    if (!socket) {
      const what = dragged.side === "output" ? "input takes" : "output gives";
      showMessage(
        `No ${what} ${this.draggedEnd(dragged)?.kind ?? "this"} on ${target.id}.`,
        "error",
      );
      return;
    }
    const here = { node: target.id, socket };
    void this.link(
      dragged.side === "output" ? { from: dragged.end, to: here } : { from: here, to: dragged.end },
      dragged.detached,
    );
  }

  draggedEnd(dragged: DraggedLink): DraggedEnd | null {
    const kindOf = dragged.side === "output" ? outputKind : inputKind;
    const kind = kindOf(this.workflow, this.catalog, this.linking, dragged.end);
    return kind === undefined ? null : { side: dragged.side, kind };
  }

  /** Return the socket of a node that a dragged link fits best: an unlinked input if there is one. */
  #bestSocket(dragged: DraggedLink, id: string): string | null {
    const type = this.typeOf(id);
    const names = Object.keys((dragged.side === "output" ? type?.inputs : type?.outputs) ?? {});
    const compatible = names.filter((socket) => {
      const here = { node: id, socket };
      const link =
        dragged.side === "output"
          ? { from: dragged.end, to: here }
          : { from: here, to: dragged.end };
      return this.linkError(link) === null;
    });
    const isEmpty = (socket: string) => sources(this.entry(id)!, socket).length === 0;
    return (
      (dragged.side === "output" ? compatible.find(isEmpty) : undefined) ?? compatible[0] ?? null
    );
  }

  /** Insert a node into a link, if it fits on both sides. */
  insert(id: string, link: Link): void {
    const type = this.typeOf(id);
    if (!type) return;
    const mayLink = (from: SocketRef, to: SocketRef) => this.linkError({ from, to }) === null;
    const input = Object.keys(type.inputs).find((socket) =>
      mayLink(link.from, { node: id, socket }),
    );
    if (!input) {
      showMessage(`${id} has no input that takes the values of this wire.`, "error");
      return;
    }
    for (const output of Object.keys(type.outputs)) {
      const next = edits.insertOnLink(
        this.workflow,
        link,
        id,
        input,
        output,
        this.#isMany(this.workflow, link.to),
      );
      if (!mayLink({ node: id, socket: output }, link.to)) continue;
      this.#commit(next);
      return;
    }
    showMessage(`${id} has no output that ${link.to.node}.${link.to.socket} takes.`, "error");
  }

  reroute(link: Link, at: Point): void {
    const type = this.catalog.types.find((each) => isReroute(each));
    if (!type) return;
    const id = edits.idFor(this.workflow, type.type);
    const added = edits.addNode(this.workflow, id, { type: type.type }, [at[0] - 20, at[1] - 12]);
    const [input, output] = [Object.keys(type.inputs)[0]!, Object.keys(type.outputs)[0]!];
    this.#commit(edits.insertOnLink(added, link, id, input, output, this.#isMany(added, link.to)));
  }

  // positions

  #moved(positions: Parameters<BoardEvents["moved"]>[0], groups: ReadonlyMap<number, Box>): void {
    let next = edits.moveNodes(this.workflow, positions);
    for (const [index, bounds] of groups) next = edits.editGroup(next, index, { bounds });
    if (next === this.workflow) this.board.show(next);
    else this.#commit(next);
  }

  nudge(dx: number, dy: number): void {
    this.#moveNodes((id, [x, y]) => (this.selection.includes(id) ? [x + dx, y + dy] : null));
  }

  /** Make the selected nodes wider, or narrower if `by` is negative. What screens show grows with them. */
  widen(by: number): void {
    const positions = new Map<string, { at: Point; width: number }>();
    for (const id of this.selection) {
      const [x, y, width] = this.board.boxes.get(id)!;
      positions.set(id, { at: [x, y], width: Math.max(MIN_WIDTH, width + by) });
    }
    this.#commit(edits.moveNodes(this.workflow, positions));
  }

  align(edge: "left" | "right" | "top" | "bottom"): void {
    const boxes = this.selection.map((id) => this.board.boxes.get(id)!);
    const left = Math.min(...boxes.map(([x]) => x));
    const top = Math.min(...boxes.map(([, y]) => y));
    const right = Math.max(...boxes.map(([x, , w]) => x + w));
    const bottom = Math.max(...boxes.map(([, y, , h]) => y + h));
    this.#moveNodes((id, [x, y, w, h]) => {
      if (!this.selection.includes(id)) return null;
      return { left: [left, y], right: [right - w, y], top: [x, top], bottom: [x, bottom - h] }[
        edge
      ] as unknown as Point;
    });
  }

  /** Make the gaps between the selected nodes equal, along one axis. */
  distribute(along: "x" | "y"): void {
    const axis = along === "x" ? 0 : 1;
    const sorted = [...this.selection].sort(
      (a, b) => this.board.boxes.get(a)![axis] - this.board.boxes.get(b)![axis],
    );
    const boxes = sorted.map((id) => this.board.boxes.get(id)!);
    const [first, last] = [boxes[0]!, boxes.at(-1)!];
    const length = boxes.reduce((sum, box) => sum + box[axis + 2]!, 0);
    const gap = (last[axis] + last[axis + 2]! - first[axis] - length) / (boxes.length - 1);
    const starts = new Map<string, number>();
    let at = first[axis];
    for (const [i, id] of sorted.entries()) {
      starts.set(id, at);
      at += boxes[i]![axis + 2]! + gap;
    }
    this.#moveNodes((id, [x, y]) => {
      const start = starts.get(id);
      if (start === undefined) return null;
      return along === "x" ? [start, y] : [x, start];
    });
  }

  #moveNodes(positionFor: (id: string, box: Box) => Point | null): void {
    const positions = new Map<string, { at: Point; width?: number | undefined }>();
    for (const [id, box] of this.board.boxes) {
      const at = positionFor(id, box);
      if (at) positions.set(id, { at, width: this.board.widthOf(id) });
    }
    this.#commit(edits.moveNodes(this.workflow, positions));
  }

  // groups

  group(): void {
    const boxes = this.selection.map((id) => this.board.boxes.get(id)!);
    if (boxes.length === 0) return;
    const left = Math.min(...boxes.map(([x]) => x)) - GROUP_PAD;
    const top = Math.min(...boxes.map(([, y]) => y)) - GROUP_TOP;
    const right = Math.max(...boxes.map(([x, , w]) => x + w)) + GROUP_PAD;
    const bottom = Math.max(...boxes.map(([, y, , h]) => y + h)) + GROUP_PAD;
    const group = { title: "Group", text: "", colour: null };
    this.#commit(edits.addGroup(this.workflow, [left, top, right - left, bottom - top], group));
  }

  /** Add a note: a frame with a text, with its upper left corner at a point, or in a free place that is in view. */
  addNote(frame: Omit<Group, "bounds">, at: Point | null): void {
    const [left, top, width, height] = this.board.view.area;
    const near: Point = [left + (width - NOTE[0]) / 2, top + (height - NOTE[1]) / 2];
    const occupied = [...this.board.boxes.values(), ...this.groups.map(({ bounds }) => bounds)];
    const [x, y] = at ?? findFreePosition([[0, 0, ...NOTE]], occupied, near);
    this.#commit(edits.addGroup(this.workflow, [x, y, ...NOTE], frame));
  }

  /** The groups and notes, each with its index in the file. */
  get groups(): readonly (Group & { readonly index: number })[] {
    return groupsOf(this.workflow).flatMap((entry, index) => {
      const group = readGroup(entry);
      return group ? [{ ...group, index }] : [];
    });
  }

  // looks

  /** Collapse nodes to their headers; if all of them are, expand them. */
  toggleCollapsed(): void {
    const collapsed = !this.selection.every((id) => styleOf(this.workflow, id).collapsed);
    this.#setStyle({ collapsed });
  }

  /** Give the selected nodes and groups a colour, or none. */
  setColour(colour: Colour | null): void {
    const before = this.workflow;
    let next = edits.setStyle(before, this.#selectedPositions, { colour });
    for (const index of this.board.selectedGroups) next = edits.editGroup(next, index, { colour });
    this.#commit(next);
  }

  #setStyle(change: Partial<NodeStyle>): void {
    this.#commit(edits.setStyle(this.workflow, this.#selectedPositions, change));
  }

  get #selectedPositions(): ReadonlyMap<string, Point> {
    const nodes = this.selection.filter((id) => !isReroute(this.typeOf(id)));
    return new Map(
      nodes.map((id) => {
        const [x, y] = this.board.boxes.get(id)!;
        return [id, [x, y]];
      }),
    );
  }

  editGroup(index: number, edit: Parameters<typeof edits.editGroup>[2]): void {
    this.#commit(edits.editGroup(this.workflow, index, edit));
  }

  inGroup(index: number): readonly string[] {
    const group = readGroup(groupsOf(this.workflow)[index] ?? null);
    if (!group) return [];
    const [left, top, width, height] = group.bounds;
    return [...this.board.boxes]
      .filter(
        ([, [x, y, w, h]]) =>
          x + w / 2 > left &&
          x + w / 2 < left + width &&
          y + h / 2 > top &&
          y + h / 2 < top + height,
      )
      .map(([id]) => id);
  }

  // clipboard

  copy(): string | null {
    const ids = this.#withGroups();
    if (ids.length === 0) return null;
    this.#clipboard = copyNodes(this.workflow, ids);
    return this.#clipboard;
  }

  /** Paste nodes at `near`, or in the upper left of the view, without covering others. Return false if the text has no nodes. */
  paste(text: string, near: Point | null = null, connected = false): boolean {
    const clip = parseClipboard(text);
    if (!clip || Object.keys(clip.nodes).length === 0) return false;
    const [x, y, w, h] = this.board.view.area;
    const at = findFreePosition(
      boxesOf(clip, this.catalog),
      [...this.board.boxes.values()],
      near ?? [x + w * 0.3, y + h * 0.3],
    );
    const pasted = pasteNodes(this.workflow, clip, at, connected);
    this.#commit(pasted.workflow);
    this.board.select(pasted.ids);
    return true;
  }

  duplicate(): void {
    const text = this.copy();
    const boxes = this.selection.map((id) => this.board.boxes.get(id)!);
    if (!text || boxes.length === 0) return;
    this.paste(
      text,
      [Math.min(...boxes.map(([x]) => x)) + 32, Math.min(...boxes.map(([, y]) => y)) + 32],
      true,
    );
  }

  get copied(): string {
    return this.#clipboard;
  }

  // descriptions

  /** Return a description of a node, for the list of nodes and for screen readers. */
  describe(id: string): string {
    const entry = this.entry(id)!;
    const incoming = links(this.workflow)
      .filter((link) => link.to.node === id)
      .map((link) => `${link.to.socket} from ${link.from.node}`);
    const mode = modeOf(entry) === "run" ? [] : [modeOf(entry) === "mute" ? "muted" : "bypassed"];
    const faults = this.faultsOf(id).map(faultText);
    return [nameOf(id, entry), typeName(entry.type), ...mode, ...incoming, ...faults].join(", ");
  }

  suggestions(query: string, dragged: DraggedLink | null) {
    const types = suggest(this.catalog, this.linking, query, dragged && this.draggedEnd(dragged));
    return dragged ? types : [...types, ...suggestGames(this.catalog, this.games.names, query)];
  }
}
