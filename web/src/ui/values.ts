/** The panel below the canvas, with the latest inputs and outputs of the selected node in full. */

import type { Editor } from "../editor/editor";
import type { Session } from "../editor/session";
import { isUnfinished, type Run, stepText } from "../live/run";
import { hasFrame, inputOf, labelOf, type NodeType, type SocketKind } from "../model/catalog";
import type { Json } from "../model/json";
import { links, nameOf, sources } from "../model/workflow";
import { h, iconButton } from "./dom";
import { swatch } from "./palette";
import { valueView } from "./value_view";

const KEY = "minibrains.values";
const STEP = 24;
const LEAST = 96;
const UNSET = 320;

const NOTHING_YET = "Nothing was delivered yet.";
const NOT_KEPT =
  "It is read when it is delivered, and not kept. Link a Preview to it, or pause and press I.";

type Side = "inputs" | "outputs";

export class Values {
  #node: string | null = null;
  /** The values that are shown, by side and socket. */
  readonly #shown = new Map<string, { value: Json | undefined; body: HTMLElement }>();
  readonly #state = h("span", { class: "muted grow" });
  readonly #title = h("h2", {});
  readonly #body = h("div", { class: "values-body" });
  readonly #edge = h("div", {
    class: "values-edge",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the values",
  });

  constructor(
    private readonly element: HTMLElement,
    private readonly editor: Editor,
    private readonly session: Session,
  ) {
    const close = iconButton("close", "Close the values (V)", () => this.toggle());
    element.append(this.#edge, h("header", {}, this.#title, this.#state, close), this.#body);
    this.#setHeight(Number(localStorage.getItem(KEY)) || UNSET);
    this.#edge.addEventListener("keydown", (event) => this.#edgeKey(event));
    this.#edge.addEventListener("pointerdown", (event) => this.#drag(event));
    editor.on("selection", () => this.#follow());
    editor.on("document", () => this.#follow());
    session.on((what) => what === "run" && this.#update());
  }

  /** Show or hide the panel. It follows the selection. */
  toggle(): void {
    this.element.hidden = !this.element.hidden;
    this.#node = null;
    this.#follow();
    if (this.element.hidden) this.editor.board.element.focus({ preventScroll: true });
  }

  /** Show the panel, if it is hidden. */
  open(): void {
    if (this.element.hidden) this.toggle();
  }

  #follow(): void {
    const [id, ...others] = this.editor.selection;
    const isOne = id !== undefined && others.length === 0 && this.editor.entry(id) !== undefined;
    const node = isOne && !this.element.hidden ? id : null;
    if (node === null || node !== this.#node) this.#show(node);
    else this.#renewReasons(node);
  }

  #show(node: string | null): void {
    this.#node = node;
    this.#shown.clear();
    this.#body.replaceChildren();
    const type = node === null ? undefined : this.editor.typeOf(node);
    if (node === null || !type) {
      this.session.watchInFull(null, null);
      this.#title.textContent = "Values";
      this.#state.textContent = "Select a node to see its inputs and outputs in full.";
      return;
    }
    this.#title.textContent = nameOf(node, this.editor.entry(node)!);
    const canvas = hasPicture(type) ? h("canvas", { role: "img" }) : null;
    if (canvas) this.#body.append(pictureColumn(canvas));
    for (const side of ["inputs", "outputs"] as const) {
      const names = Object.keys(type[side]);
      if (names.length === 0) continue;
      const column = h("section", { "aria-label": TITLES[side], tabindex: "0" });
      column.append(h("h3", {}, TITLES[side]), ...names.map((name) => this.#row(type, side, name)));
      this.#body.append(column);
    }
    this.session.watchInFull(node, canvas);
    this.#update();
  }

  /** Say again why values are missing, because links may have changed. */
  #renewReasons(node: string): void {
    const type = this.editor.typeOf(node);
    for (const [key, shown] of this.#shown)
      if (type && shown.value === undefined) this.#fill(node, type, key, undefined);
  }

  #row(type: NodeType, side: Side, name: string): HTMLElement {
    const body = h("div", { data: { value: `${side}.${name}` } });
    this.#shown.set(`${side}.${name}`, { value: null, body });
    const socket = socketOf(type, side, name);
    const heading = h("h4", {}, swatch(labelOf(socket)), name, h("small", {}, socket?.kind ?? ""));
    return h("div", { class: "value" }, heading, body);
  }

  #update(): void {
    const node = this.#node;
    const type = node === null ? undefined : this.editor.typeOf(node);
    if (node === null || !type) return;
    const { run } = this.session;
    this.#state.textContent = stateText(run);
    for (const [key, shown] of this.#shown) {
      const [side, name] = key.split(".") as [Side, string];
      // of a step of the tick, what it had itself; otherwise the latest values
      const at = run?.at?.node === node ? run.at : null;
      const value = at ? at[side][name] : run?.[side].get(`${node}.${name}`);
      if (value !== shown.value) this.#fill(node, type, key, value);
    }
  }

  #fill(node: string, type: NodeType, key: string, value: Json | undefined): void {
    const [side, name] = key.split(".") as [Side, string];
    const { body } = this.#shown.get(key)!;
    this.#shown.set(key, { value, body });
    const socket = socketOf(type, side, name);
    if (value === undefined)
      body.replaceChildren(h("span", { class: "muted" }, this.#reason(node, type, side, name)));
    else body.replaceChildren(valueView(value, labelOf(socket)));
  }

  /** Return why there is no value. */
  #reason(node: string, type: NodeType, side: Side, name: string): string {
    const socket = socketOf(type, side, name);
    const { workflow } = this.editor;
    if (socket && hasFrame(socket)) return "A picture, which is shown beside the values.";
    if (side === "inputs") {
      const [source] = sources(workflow.nodes[node]!, name);
      if (source === undefined) return "Nothing is linked to it.";
      return this.#keeps(source.node, source.socket) ? NOTHING_YET : NOT_KEPT;
    }
    if (this.#keeps(node, name)) return NOTHING_YET;
    const isRead = links(workflow).some(({ from }) => from.node === node && from.socket === name);
    return isRead ? NOT_KEPT : "It is not kept, because nothing reads it.";
  }

  /** Return whether the values of an output are kept: those of registers and background nodes are, others if something reads
   * the last one. */
  #keeps(node: string, output: string): boolean {
    const type = this.editor.typeOf(node);
    if (type?.register || (type?.background ?? null) !== null) return true;
    return links(this.editor.workflow).some(
      ({ from, to }) =>
        from.node === node &&
        from.socket === output &&
        inputOf(this.editor.typeOf(to.node), to.socket)?.reading !== "on",
    );
  }

  #edgeKey(event: KeyboardEvent): void {
    const steps = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.#setHeight(this.element.offsetHeight + steps);
  }

  #drag(event: PointerEvent): void {
    const from = event.clientY + this.element.offsetHeight;
    const move = ({ clientY }: PointerEvent) => this.#setHeight(from - clientY);
    this.#edge.setPointerCapture(event.pointerId);
    this.#edge.addEventListener("pointermove", move);
    const end = () => this.#edge.removeEventListener("pointermove", move);
    this.#edge.addEventListener("lostpointercapture", end, { once: true });
  }

  #setHeight(height: number): void {
    const most = Math.max(LEAST, innerHeight - 200);
    const rounded = Math.round(Math.min(Math.max(height, LEAST), most));
    this.element.style.height = `${rounded}px`;
    this.#edge.setAttribute("aria-valuenow", String(rounded));
    localStorage.setItem(KEY, String(rounded));
  }
}

const TITLES = { inputs: "Inputs", outputs: "Outputs" } as const;

function socketOf(type: NodeType, side: Side, name: string): SocketKind | undefined {
  return side === "inputs" ? inputOf(type, name) : type.outputs[name];
}

function hasPicture(type: NodeType): boolean {
  return [...Object.values(type.outputs), ...Object.values(type.inputs)].some(hasFrame);
}

function pictureColumn(canvas: HTMLCanvasElement): HTMLElement {
  const size = h("small", {});
  canvas.addEventListener("painted", (event) => {
    const { width, height, tick } = (event as CustomEvent<Record<string, number>>).detail;
    size.textContent = `${width} × ${height}, tick ${tick}`;
  });
  return h(
    "section",
    { class: "value-picture", "aria-label": "Picture" },
    h("h3", {}, "Picture"),
    canvas,
    size,
  );
}

function stateText(run: Run | null): string {
  if (run === null) return "Run the workflow to see the values.";
  const tick = run.tick === null ? "" : `, tick ${run.tick.toLocaleString("en")}`;
  if (run.at) return `Within tick ${run.ticks.toLocaleString("en")}: ${stepText(run.at)}`;
  if (!isUnfinished(run)) return `The run is over${tick}; these were the last values.`;
  return `${run.state}${tick}`;
}
