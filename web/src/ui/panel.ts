/** The panel on the left, with the tabs node types, list of nodes, files, runs and data sets. */

import { api, type BrainInfo, type FileInfo } from "../api";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import type { Session } from "../editor/session";
import { earlierRun, queuedRun } from "../live/run_facts";
import { typeBase } from "../model/catalog";
import { isObject, type Json, type JsonObject } from "../model/json";
import { nameOf, stem, type Workflow } from "../model/workflow";
import { openBrain } from "./brain_view";
import { dataList } from "./data_list";
import { openDataSet } from "./data_view";
import { button, h, type Icon, icon, iconButton } from "./dom";
import { editFrame } from "./frame_dialog";
import { openMenu, showMessage } from "./overlay";
import { mainLabel, swatch } from "./palette";
import { RunList } from "./runs";

type Tab = "nodes" | "list" | "files" | "runs" | "data";
const TABS: readonly { id: Tab; name: string; icon: Icon }[] = [
  { id: "nodes", name: "Node types", icon: "grid" },
  { id: "list", name: "List of nodes", icon: "list" },
  { id: "files", name: "Files", icon: "folder" },
  { id: "runs", name: "Runs", icon: "clock" },
  { id: "data", name: "Data sets", icon: "samples" },
];

export interface PanelCallbacks {
  gallery(): void;
  /** The layout has changed. */
  resized(): void;
  inspect(id: string): void;
}

export class Panel {
  #tab: Tab | null = null;
  #filter = "";
  #files: readonly FileInfo[] = [];
  #runRequests = 0;
  brains: readonly BrainInfo[] = [];
  readonly #runList = new RunList({
    show: (run) => void this.#showRun(run.id, run.workflow),
    openWorkflow: (run) => void this.files.openText(JSON.stringify(run.workflow ?? {})),
    share: (run) => void this.files.downloadRun(run.id, run.workflow ?? {}, run.title),
    rewind: (run) => void this.#showRun(run.id, run.workflow, () => this.session.rewind(run.id)),
    canCompare: () => this.session.canFork,
    compare: (run) => this.session.showComparison(run.id, false),
    forget: (run) => void api.deleteRun(run.id).then(() => this.#renderRuns()),
    stop: (run) => void this.session.control("stop", run.id),
    takeOut: (run) => void api.cancelQueued(run.id).then(() => this.#renderRuns()),
  });
  readonly #body = h("div", { class: "panel-body" });
  readonly #buttons = new Map<Tab, HTMLButtonElement>();

  constructor(
    rail: HTMLElement,
    private readonly element: HTMLElement,
    private readonly editor: Editor,
    private readonly session: Session,
    private readonly files: Files,
    private readonly callbacks: PanelCallbacks,
  ) {
    for (const { id, name, icon: sign } of TABS) {
      const tab = iconButton(sign, name, () => this.show(this.#tab === id ? null : id), {
        "aria-pressed": "false",
        data: { tab: id },
      });
      this.#buttons.set(id, tab);
      rail.append(tab);
    }
    element.append(this.#body);
    for (const what of ["document", "path"] as const)
      editor.on(what, () => this.#tab === "list" && this.#renderList());
    editor.on("selection", () => this.#tab === "list" && this.#markSelected());
    editor.on("faults", () => this.#tab === "list" && this.#renderList());
    session.on((what) => {
      if (what === "workflows" && this.#tab === "files") void this.#loadFiles();
      if (what === "lists" && this.#tab === "runs") void this.#renderRuns();
      if ((what === "data" || what === "lists") && this.#tab === "data") void this.#loadData();
    });
  }

  get tab(): Tab | null {
    return this.#tab;
  }

  show(tab: Tab | null): void {
    this.#tab = tab;
    this.element.hidden = tab === null;
    for (const [id, each] of this.#buttons) each.setAttribute("aria-pressed", String(id === tab));
    if (tab === "nodes") this.#renderTypes();
    if (tab === "list") this.#renderList();
    if (tab === "files") void this.#loadFiles();
    if (tab === "runs") void this.#renderRuns();
    if (tab === "data") void this.#loadData();
    this.callbacks.resized();
  }

  /** Show the list of nodes with the focus in it, or hide it and give the focus to the canvas. */
  toggleList(): void {
    this.show(this.#tab === "list" ? null : "list");
    const item = this.#tab === "list" && this.#body.querySelector<HTMLElement>("[tabindex='0']");
    (item || this.editor.board.element).focus({ preventScroll: true });
  }

  #fill(title: string, tools: readonly HTMLElement[], ...content: (HTMLElement | null)[]): void {
    const { scrollTop } = this.#body;
    this.element.setAttribute("aria-label", title);
    this.#body.replaceChildren(
      h("header", {}, h("h2", {}, title), ...tools),
      ...content.filter((each) => each !== null),
    );
    this.#body.scrollTop = scrollTop;
  }

  // node types

  #renderTypes(): void {
    const search = h("input", {
      class: "field",
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter node types",
      value: this.#filter,
    });
    const list = h("div", { class: "types" });
    const fill = () => {
      this.#filter = search.value;
      const categories = new Map<string, HTMLElement[]>();
      for (const { type } of this.editor.suggestions(this.#filter, null)) {
        const put = () => this.editor.add(type.type, null);
        const entry = h(
          "button",
          {
            type: "button",
            class: "item",
            title: type.summary,
            draggable: "true",
            onclick: put,
            data: { type: type.type },
          },
          swatch(mainLabel(type)),
          h("span", { class: "grow" }, typeBase(type)),
        );
        entry.addEventListener("dragstart", (event) =>
          event.dataTransfer!.setData("application/x-minibrains-type", type.type),
        );
        if (!categories.has(type.category)) categories.set(type.category, []);
        categories.get(type.category)!.push(entry);
      }
      list.replaceChildren(
        ...[...categories]
          .sort(([a], [b]) => a.localeCompare(b))
          .map(([category, entries]) => h("section", {}, h("h3", {}, category), ...entries)),
      );
    };
    search.addEventListener("input", fill);
    fill();
    this.#fill(
      "Node types",
      [],
      search,
      h("p", { class: "hint" }, "Click to add, or drag onto the canvas."),
      list,
    );
  }

  // the list of nodes

  #renderList(): void {
    const { editor } = this;
    const ids = Object.keys(editor.workflow.nodes);
    const list = h("ul", {
      class: "node-list",
      role: "listbox",
      "aria-label": "Nodes",
      "aria-multiselectable": "true",
    });
    for (const id of ids) {
      const entry = editor.entry(id)!;
      const faults = editor.faultsOf(id).length;
      const type = editor.typeOf(id);
      const item = h(
        "li",
        {
          role: "option",
          class: "item",
          tabindex: "-1",
          "aria-label": editor.describe(id),
          data: { id },
        },
        swatch(type ? mainLabel(type) : "any"),
        h("span", { class: "grow" }, nameOf(id, entry), h("small", {}, entry.type)),
        faults ? h("span", { class: "bad", title: "needs attention" }, icon("warn")) : null,
      );
      item.addEventListener("click", () => this.#choose(id));
      item.addEventListener("dblclick", () => this.callbacks.inspect(id));
      list.append(item);
    }
    for (const { index, title, text } of editor.groups) {
      const kind = text ? "Note" : "Group";
      const item = h(
        "li",
        {
          role: "option",
          class: "item",
          tabindex: "-1",
          "aria-label": `${kind} ${title}: ${text}`,
          data: { group: String(index) },
        },
        h("span", { class: "grow" }, title || kind, h("small", {}, text.split("\n")[0] || kind)),
      );
      item.addEventListener("click", () => this.#showGroup(index));
      item.addEventListener("dblclick", () => void editFrame(editor, index));
      list.append(item);
    }
    list.addEventListener("keydown", (event) => this.#listKey(event, list));
    const hadFocus = this.#body.contains(document.activeElement)
      ? keyOf(document.activeElement as HTMLElement)
      : undefined;
    const empty = list.children.length ? null : h("p", { class: "empty" }, "No nodes yet.");
    this.#fill(
      "List of nodes",
      [],
      h(
        "p",
        { class: "hint" },
        "Arrow keys move, Enter edits, Delete removes. Wires are under Inputs on the right. Notes and groups are at the end.",
      ),
      list,
      empty,
    );
    this.#markSelected();
    const chosen = hadFocus ?? editor.selection[0];
    const items = [...list.children] as HTMLElement[];
    const focusable = items.find((item) => keyOf(item) === chosen) ?? items[0];
    if (focusable) focusable.tabIndex = 0;
    if (hadFocus) focusable?.focus();
  }

  /** Move the view to a group or note. */
  #showGroup(index: number): void {
    const group = this.editor.groups.find((each) => each.index === index);
    if (!group) return;
    const [x, y, width, height] = group.bounds;
    this.editor.board.select([]);
    this.editor.board.centre([x + width / 2, y + height / 2]);
  }

  #choose(id: string): void {
    this.editor.board.select([id]);
    this.editor.board.reveal(id);
  }

  #listKey(event: KeyboardEvent, list: HTMLElement): void {
    const items = [...list.children] as HTMLElement[];
    const index = items.indexOf(document.activeElement as HTMLElement);
    const go = (to: number) => {
      const item = items[Math.max(0, Math.min(to, items.length - 1))];
      item?.focus();
      if (item?.dataset.group) this.#showGroup(Number(item.dataset.group));
      else if (item) this.#choose(item.dataset.id!);
    };
    const group = items[index]?.dataset.group;
    if (event.key === "ArrowDown") go(index + 1);
    else if (event.key === "ArrowUp") go(index - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(items.length - 1);
    else if (group !== undefined && event.key === "Enter")
      void editFrame(this.editor, Number(group));
    else if (group !== undefined && /^(Delete|Backspace)$/.test(event.key))
      this.editor.editGroup(Number(group), null);
    else if (event.key === "Enter" && index >= 0) this.callbacks.inspect(items[index]!.dataset.id!);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #markSelected(): void {
    const selected = new Set(this.editor.selection);
    for (const item of this.#body.querySelectorAll<HTMLElement>("[role=option]")) {
      item.setAttribute("aria-selected", String(selected.has(item.dataset.id!)));
    }
  }

  // files

  async #loadFiles(): Promise<void> {
    try {
      this.#files = await api.files();
    } catch (error) {
      showMessage((error as Error).message, "error");
    }
    if (this.#tab === "files") this.renderFiles();
  }

  #chooseFile(): void {
    const input = h("input", { type: "file", accept: ".json,.zip,.png,.mp4,.safetensors" });
    input.addEventListener("change", async () => {
      for (const file of input.files ?? []) await this.files.openFile(file, null);
    });
    input.click();
  }

  renderFiles(): void {
    if (this.#tab !== "files") return;
    const current = this.editor.document.file;
    const workflows = this.#files
      .filter(({ path }) => path.endsWith(".json"))
      .map(({ path }) => {
        const more = iconButton(
          "more",
          `More for ${path}`,
          () => {
            const { left, top, width, height } = more.getBoundingClientRect();
            openMenu(
              [
                {
                  name: "Rename",
                  run: () => void this.files.rename(path).then(() => this.#loadFiles()),
                },
                {
                  name: "Move to trash",
                  danger: true,
                  run: () => void this.files.remove(path).then(() => this.#loadFiles()),
                },
              ],
              [left, top, width, height],
            );
          },
          { class: "small" },
        );
        return h(
          "div",
          { class: `item-row ${path === current ? "current" : ""}` },
          h(
            "button",
            {
              type: "button",
              class: "item",
              onclick: () => void this.files.open(path),
              data: { file: path },
            },
            icon("folder"),
            h("span", { class: "grow" }, stem(path)),
          ),
          more,
        );
      });
    const brains = this.brains.map((brain) =>
      h(
        "button",
        {
          type: "button",
          class: "item",
          title: brain.title ?? brain.file,
          onclick: () => void openBrain(brain.file),
          data: { brain: brain.file },
        },
        icon("brain"),
        h(
          "span",
          { class: "grow" },
          brain.file.replace(/\.safetensors$/, ""),
          h("small", {}, brain.kind),
        ),
      ),
    );
    this.#fill(
      "Files",
      [
        iconButton("plus", "New workflow", () => void this.files.create()),
        iconButton("open", "Open a file of this computer", () => this.#chooseFile()),
        iconButton(
          "download",
          "Download with all brains, as one file",
          () => void this.files.download(),
        ),
      ],
      h(
        "section",
        {},
        h("h3", {}, "Workflows"),
        ...(workflows.length ? workflows : [h("p", { class: "empty" }, "None saved yet.")]),
        button("Gallery", () => this.callbacks.gallery(), "quiet wide", "grid"),
      ),
      h(
        "section",
        {},
        h("h3", {}, "Brains"),
        ...(brains.length
          ? brains
          : [h("p", { class: "empty" }, "Drop a .safetensors file on the page.")]),
      ),
    );
  }

  // data sets

  async #loadData(): Promise<void> {
    const sets = await api.dataSets().catch((error: Error) => error);
    if (this.#tab !== "data") return;
    const open = (name: string) => void openDataSet(name, this.session);
    const content =
      sets instanceof Error ? h("p", { class: "empty" }, sets.message) : dataList(sets, open);
    this.#fill("Data sets", [], content);
  }

  // runs

  /** Show a run, and open its workflow if another one is open. */
  async #showRun(
    id: string,
    workflow: Json,
    show: () => unknown = () => this.session.follow(id),
  ): Promise<void> {
    const isHere = !isObject(workflow) || hasSameNodes(workflow, this.editor.workflow);
    if (isHere || (await this.files.openText(JSON.stringify(workflow)))) await show();
  }

  async #renderRuns(): Promise<void> {
    // answers may arrive out of order: only that to the latest request is shown
    const request = ++this.#runRequests;
    let queue: Awaited<ReturnType<typeof api.queue>>;
    let history: Awaited<ReturnType<typeof api.history>>;
    try {
      [queue, history] = await Promise.all([api.queue(), api.history()]);
    } catch (error) {
      if (request === this.#runRequests)
        this.#fill("Runs", [], h("p", { class: "empty" }, (error as Error).message));
      return;
    }
    if (this.#tab !== "runs" || request !== this.#runRequests) return;
    const running = queue.queue_running.map((item) => queuedRun(item, "running"));
    const waiting = queue.queue_pending.map((item) => queuedRun(item, "queued"));
    // a run that ended between the two answers is in both, and is shown once
    const current = [...running, ...waiting];
    const ids = new Set(current.map(({ id }) => id));
    const earlier = Object.entries(history)
      .filter(([id]) => !ids.has(id))
      .map(([id, entry]) => earlierRun(id, entry))
      .reverse();
    const [first] = this.#runList.elements;
    if (!first?.isConnected) this.#fill("Runs", [], ...this.#runList.elements);
    this.#runList.update(current, earlier, this.session.run?.id);
  }
}

/** Return what tells an item of the list of nodes from the others. Ids of nodes have no spaces. */
const keyOf = ({ dataset }: HTMLElement): string => dataset.id ?? `group ${dataset.group}`;

/** Return true if a run's workflow has the same nodes, so that its pictures and times can be shown here. */
function hasSameNodes(workflow: JsonObject, { nodes }: Workflow): boolean {
  const types = (all: Json | Workflow["nodes"]) =>
    Object.entries(isObject(all) ? all : {})
      .map(([id, node]) => [id, isObject(node) ? node.type : null])
      .sort();
  return JSON.stringify(types(workflow.nodes ?? null)) === JSON.stringify(types(nodes));
}
