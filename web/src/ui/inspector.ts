/** The inspector on the right: all settings of the selected node, or of the workflow if none is selected. */

import { type BrainInfo, faultText } from "../api";
import type { NodeStatus } from "../board/events";
import type { Editor } from "../editor/editor";
import type { Session } from "../editor/session";
import { durationText, meanOf, type NodeTicks } from "../live/budget";
import { progressText } from "../live/progress";
import { isActive, isUnfinished } from "../live/run";
import { savingsText } from "../live/savings";
import { BOX, inputOf, labelOf, type NodeType } from "../model/catalog";
import { isObject, type Json, own, withKey } from "../model/json";
import {
  brainFile,
  breakpointsOf,
  formatSocketRef,
  isCondition,
  linkedInputs,
  localId,
  modeOf,
  type NodeEntry,
  parseSocketRef,
  type SocketRef,
  sources,
  typeName,
  WHEN,
} from "../model/workflow";
import { promptForBox } from "./box_dialog";
import { openBrain } from "./brain_view";
import { control, range, textArea, textField } from "./controls";
import { button, h, icon, iconButton } from "./dom";
import { insidePanel, partNotice } from "./inside_panel";
import { openMenu } from "./overlay";
import { swatch } from "./palette";
import { widgetField } from "./widget_field";

/** The name under which a control is found again when all of them are made anew. */
function nameOf(field: Element): string | null {
  return field.getAttribute("aria-label") ?? field.textContent;
}

export class Inspector {
  brains: readonly BrainInfo[] = [];
  /** Show or hide the values of the selected node in full. */
  showValues = (): void => undefined;
  #shown = "";
  #subject = "";
  /** True if something changed that is not shown yet, because somebody types. */
  #isStale = false;
  /** The node that is shown; null: none, or several. */
  #node: string | null = null;
  /** Number of changes of the possible links. */
  #linkingVersion = 0;

  constructor(
    private readonly element: HTMLElement,
    private readonly editor: Editor,
    private readonly session: Session,
  ) {
    element.addEventListener("focusout", ({ relatedTarget }) => {
      const goesOn = relatedTarget instanceof Node && element.contains(relatedTarget);
      if (this.#isStale && !goesOn) this.render(true);
    });
    editor.on("selection", () => this.render());
    editor.on("document", () => this.render());
    editor.on("path", () => this.render(true));
    editor.on("faults", () => this.#renderFaults());
    editor.on("linking", () => {
      this.#linkingVersion += 1;
      this.render();
    });
    session.on((what) => {
      if (what !== "run") return;
      this.#renderFaults();
      this.#renderProgress();
      this.#renderTicks();
      this.#renderThinkTimes();
      this.#renderSavings();
      this.#renderGame();
    });
  }

  /** Render if there are changes, but not while the user types in a field. */
  render(force = false): void {
    const ids = this.editor.selection;
    const id = ids.length === 1 ? ids[0]! : null;
    const { editor } = this;
    const { workflow } = editor;
    let shown: readonly unknown[] = ids;
    if (id) shown = [id, this.editor.entry(id), this.#linkingVersion, workflow.breakpoints];
    else if (editor.subgraph) shown = ["", editor.path, editor.subgraph, this.#linkingVersion];
    else if (ids.length === 0) shown = ["", workflow.title, workflow.description, workflow.run];
    if (id && editor.subgraph) shown = [...shown, editor.subgraph.subgraph.widgets];
    if (id && editor.isBox(id)) shown = [...shown, editor.typeOf(id), editor.chosenSubgraph];
    const key = JSON.stringify(shown);
    const subject = this.#subjectOf(ids);
    const isTyping =
      subject === this.#subject &&
      this.element.contains(document.activeElement) &&
      /^(INPUT|TEXTAREA)$/.test(document.activeElement!.tagName) &&
      (document.activeElement as HTMLInputElement).type !== "checkbox";
    if (!force && key === this.#shown) return;
    this.#isStale = isTyping && !force;
    this.#shown = key;
    if (this.#isStale) return;
    this.#subject = subject;
    const focused = this.element.contains(document.activeElement)
      ? nameOf(document.activeElement!)
      : null;
    const opened = id === this.#node ? this.#openParts() : [];
    this.#node = id;
    if (id) this.#showNode(id, this.editor.entry(id)!);
    else if (ids.length) this.#showMany(ids);
    else if (this.editor.path) this.#showInside();
    else this.#showWorkflow();
    for (const part of this.#parts) part.open ||= opened.includes(part.firstChild!.textContent);
    if (focused) {
      const fields = this.element.querySelectorAll<HTMLElement>("[aria-label], button, summary");
      [...fields].find((field) => nameOf(field) === focused)?.focus();
    }
  }

  /** What the fields are about: while it is the same, a field that somebody types in stays. */
  #subjectOf(ids: readonly string[]): string {
    const { document, path, subgraph } = this.editor;
    const { inputs, outputs, widgets, brains } = subgraph?.subgraph ?? {};
    const parts = [inputs, outputs, widgets, brains].map((part) => Object.keys(part ?? {}));
    return JSON.stringify([document.loadCount, path, ids.length ? ids : parts]);
  }

  get #parts(): NodeListOf<HTMLDetailsElement> {
    return this.element.querySelectorAll("details");
  }

  /** Return the names of the parts that are open: those of the same node stay so. */
  #openParts(): readonly (string | null)[] {
    return [...this.#parts].filter(({ open }) => open).map((part) => part.firstChild!.textContent);
  }

  focus(label?: string): void {
    const fields = [...this.element.querySelectorAll<HTMLElement>("input, select, textarea")];
    (fields.find((field) => field.getAttribute("aria-label") === label) ?? fields[0])?.focus();
  }

  #showNode(id: string, entry: NodeEntry): void {
    const { editor } = this;
    const type = editor.typeOf(id);
    const title = textField(
      typeof entry.title === "string" ? entry.title : "",
      { "aria-label": "Title", class: "field bare title" },
      (text, isFinal) => editor.setKey(id, "title", text || undefined, isFinal),
    );
    title.placeholder = id;
    const summary = type?.summary ?? "";
    this.element.replaceChildren(
      h(
        "header",
        {},
        title,
        h(
          "p",
          { class: "muted" },
          swatch(
            type ? labelOf(Object.values(type.outputs)[0] ?? Object.values(type.inputs)[0]) : "any",
          ),
          entry.type,
          type?.register ? h("span", { class: "tag" }, "register") : null,
        ),
      ),
      h("div", { class: "faults" }),
      ...(editor.isBox(id)
        ? [
            h(
              "div",
              { class: "button-list" },
              button("Open the box", () => editor.enter(id), ""),
              button("Unpack the box", () => editor.unpack(), ""),
            ),
            partNotice(editor, editor.chosenSubgraph!.name, editor.chosenSubgraph!.subgraph) ?? "",
          ]
        : []),
      button("Values in full", () => this.showValues(), ""),
      h("div", { class: "game" }),
      h("div", { class: "progress doc" }),
      h("div", { class: "ticks doc" }),
      h("div", { class: "thoughts" }),
      h("div", { class: "savings doc" }),
      type
        ? h("p", { class: "summary" }, summary)
        : h(
            "p",
            { class: "notice" },
            icon("warn"),
            `${typeName(entry.type)} is not installed here. Everything it had is kept; install its pack to run it.`,
          ),
      ...this.#widgets(id, entry, type),
      ...this.#brain(id, entry, type),
      ...this.#inputs(id, entry, type),
      ...this.#outputs(id, type),
      ...this.#timing(id, entry, type),
      ...this.#about(id, type),
    );
    this.#renderFaults();
    this.#renderProgress();
    this.#renderTicks();
    this.#renderThinkTimes();
    this.#renderSavings();
    this.#renderGame();
  }

  /** Show how far the node is with its work in the current run. */
  #renderProgress(): void {
    const container = this.element.querySelector<HTMLElement>(".progress");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const text = progressText(this.session.run?.nodes.get(id)?.progress ?? null);
    if (container.textContent !== text) container.textContent = text;
  }

  /** Show how long the node took on the last ticks, if this is shown on the canvas, too. */
  #renderTicks(): void {
    const container = this.element.querySelector<HTMLElement>(".ticks");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const { run, view } = this.session;
    const times = isUnfinished(run) && view.shows("budgets") ? run.budget.nodes.get(id) : undefined;
    const missed = run?.budget.missed?.nodes.get(id) ?? 0;
    const text = times ? ticksText(times, missed) : "";
    if (container.textContent !== text) container.textContent = text;
  }

  /** Show the button that saves the state of a console's game. */
  #renderGame(): void {
    const container = this.element.querySelector<HTMLElement>(".game");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const isOn = isActive(this.session.run) && this.editor.typeOf(id)?.console === true;
    if (isOn === container.hasChildNodes()) return;
    container.replaceChildren(
      ...(isOn
        ? [
            section(
              "Game",
              button("Save state", () => void this.session.saveState(id), ""),
            ),
          ]
        : []),
    );
  }

  /** Show a background node's thinking times in the current run. */
  #renderThinkTimes(): void {
    const container = this.element.querySelector<HTMLElement>(".thoughts");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const node = this.session.run?.nodes.get(id);
    const thinkTimes = node?.thinkTimes ?? [];
    const health = node ? healthOf(node) : "";
    const key = JSON.stringify([thinkTimes, health]);
    if (container.dataset.thinkTimes === key) return;
    container.dataset.thinkTimes = key;
    const bars = thinkTimes.length ? histogram(thinkTimes) : null;
    const words = health ? h("p", { class: "notice" }, health) : null;
    container.replaceChildren(...(bars || words ? [section("Thoughts", words, bars)] : []));
  }

  /** Show the time that caches saved the node in the current run. */
  #renderSavings(): void {
    const container = this.element.querySelector<HTMLElement>(".savings");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const text = savingsText(this.session.run?.nodes.get(id)?.savings ?? []);
    if (container.textContent !== text) container.textContent = text;
  }

  /** Show the faults of the node, and its error in the current run. */
  #renderFaults(): void {
    const container = this.element.querySelector<HTMLElement>(".faults");
    const id = this.editor.selection[0];
    if (!container || this.editor.selection.length !== 1 || !id) return;
    const failed = this.session.run?.nodes.get(id)?.error;
    const texts = [...this.editor.faultsOf(id).map(faultText), ...(failed ? [failed] : [])];
    if (container.dataset.texts === JSON.stringify(texts)) return;
    container.dataset.texts = JSON.stringify(texts);
    container.replaceChildren(
      ...texts.map((text) => h("p", { class: "notice bad" }, icon("warn"), text)),
    );
  }

  #widgets(id: string, entry: NodeEntry, type: NodeType | undefined): HTMLElement[] {
    const set = isObject(entry.set) ? entry.set : {};
    const known = Object.entries(type?.widgets ?? {});
    const unknown = Object.keys(set).filter((name) => !own(type?.widgets, name));
    if (known.length + unknown.length === 0) return [];
    const rows = known.map(([name, widget]) => {
      const isSet = Object.hasOwn(set, name);
      const value = isSet ? set[name] : widget.default;
      const field = widgetField(this.editor, id, name, widget, value);
      const reset =
        isSet && !widget.required
          ? iconButton(
              "undo",
              `Back to the default (${JSON.stringify(widget.default)})`,
              () => this.editor.setWidget(id, name, undefined, true),
              { class: "small" },
            )
          : null;
      const doc = [widget.doc, range(widget.schema.minimum, widget.schema.maximum).trim()]
        .filter(Boolean)
        .join("; ");
      return row(name, field, doc, h("span", {}, reset, this.#showOnBox(id, name)));
    });
    rows.push(
      ...unknown.map((name) => {
        const field = control({}, set[name], name, (value, isFinal) =>
          this.editor.setWidget(id, name, value, isFinal),
        );
        const remove = iconButton(
          "trash",
          `Take ${name} out`,
          () => this.editor.setWidget(id, name, undefined, true),
          {
            class: "small",
          },
        );
        return row(name, field, type ? "not a widget of this node" : "", remove);
      }),
    );
    return [section("Widgets", ...rows)];
  }

  /** Return the button that shows a widget of a node on the box around it; null outside of boxes. */
  #showOnBox(id: string, name: string): HTMLElement | null {
    const { editor } = this;
    if (!editor.path) return null;
    const shown = editor.shownWidget(id, name);
    const label = shown === null ? `Show ${name} on the box` : `${name} is on the box as ${shown}`;
    const toggle = () => editor.showWidget(id, name, shown === null);
    return iconButton("box", label, toggle, {
      class: "small",
      "aria-pressed": String(shown !== null),
    });
  }

  #brain(id: string, entry: NodeEntry, type: NodeType | undefined): HTMLElement[] {
    const file = brainFile(entry);
    if (!type?.brain && !file) return [];
    const fitting = this.brains.filter((brain) => brain.kind === type?.brain?.kind);
    const select = h("select", { class: "field", "aria-label": "Brain" });
    select.append(
      h(
        "option",
        { value: "", selected: file === null },
        type?.brain?.required ? "choose a file" : "none",
      ),
    );
    for (const brain of fitting) {
      select.append(
        h(
          "option",
          { value: brain.file, selected: brain.file === file },
          brain.title ? `${brain.file} – ${brain.title}` : brain.file,
        ),
      );
    }
    if (file && !fitting.some((brain) => brain.file === file)) {
      select.append(
        h(
          "option",
          { value: file, selected: true },
          this.brains.length ? `${file} (not here)` : file,
        ),
      );
    }
    select.addEventListener("change", () =>
      this.editor.setKey(id, "brain", select.value || undefined),
    );
    const pin =
      isObject(entry.brain) && entry.brain.sha256
        ? `Pinned to SHA-256 ${String(entry.brain.sha256).slice(0, 12)}…`
        : "";
    return [
      section(
        "Brain",
        row(
          "file",
          select,
          pin ||
            `Kind: ${type?.brain?.kind ?? "unknown"}. Drop a .safetensors file on the node to change it.`,
        ),
        file ? button("Look inside", () => void openBrain(file), "", "brain") : null,
      ),
    ];
  }

  #inputs(id: string, entry: NodeEntry, type: NodeType | undefined): HTMLElement[] {
    const names = [
      ...new Set([
        ...Object.keys(type?.inputs ?? {}),
        ...linkedInputs(entry).filter((name) => name !== WHEN),
      ]),
    ];
    if (names.length === 0) return [];
    return [
      section(
        "Inputs",
        ...names.map((name) => {
          const input = inputOf(type, name);
          const linked = sources(entry, name);
          const fields = linked.map((end, i) =>
            this.#source(id, name, formatSocketRef(end), `${name}${i ? ` ${i + 1}` : ""}`),
          );
          if (linked.length === 0 || input?.many)
            fields.push(
              this.#source(id, name, "", linked.length ? `${name} ${linked.length + 1}` : name),
            );
          const reading = { on: "on delivery", aged: "value and age", last: "" }[
            input?.reading ?? "last"
          ];
          const facts = [input?.kind, reading, input?.required ? "" : "optional"]
            .filter(Boolean)
            .join(", ");
          return row(
            name,
            h("div", { class: "stack" }, ...fields),
            [facts, input?.doc].filter(Boolean).join("; "),
          );
        }),
      ),
    ];
  }

  #outputs(id: string, type: NodeType | undefined): HTMLElement[] {
    const outputs = Object.entries(type?.outputs ?? {});
    if (outputs.length === 0) return [];
    const breakpoints = breakpointsOf(this.editor.workflow);
    const isBroken = outputs.some(([name]) => breakpoints.has(`${id}.${name}`));
    return [
      disclosure(
        "Outputs",
        isBroken,
        ...outputs.map(([name, output]) => {
          const facts = [output.kind, output.absent ? "not on every tick" : ""]
            .filter(Boolean)
            .join(", ");
          const field = this.#breakpoint({ node: id, socket: name });
          return row(name, h("div", { class: "stack" }, h("span", {}, facts), field), output.doc);
        }),
      ),
    ];
  }

  /** Return the field with the condition on which an output pauses a run. */
  #breakpoint(output: SocketRef): HTMLElement {
    const current = breakpointsOf(this.editor.workflow).get(formatSocketRef(output)) ?? "";
    const field = textField(
      current,
      { "aria-label": `${output.socket} pauses when`, class: "field" },
      (text, isFinal) => {
        const isValid = text.trim() === "" || isCondition(text);
        field.classList.toggle("wrong", !isValid);
        if (isFinal && isValid) this.editor.setBreakpoint(output, text.trim() || undefined);
      },
    );
    field.placeholder = "pause when, e.g. < 0";
    return field;
  }

  /** Return a list of outputs that fit an input, to link it without a mouse. */
  #source(id: string, socket: string, current: string, label: string): HTMLElement {
    const { editor } = this;
    const to = { node: id, socket };
    const select = h("select", { class: "field", "aria-label": `${label} comes from` });
    select.append(h("option", { value: "" }, "nothing"));
    if (current) select.append(h("option", { value: current, selected: true }, current));
    for (const [node, entry] of Object.entries(editor.workflow.nodes)) {
      for (const output of Object.keys(editor.catalog.find(entry.type)?.outputs ?? {})) {
        const from = { node, socket: output };
        if (formatSocketRef(from) === current || editor.linkError({ from, to }) !== null) continue;
        select.append(h("option", { value: formatSocketRef(from) }, formatSocketRef(from)));
      }
    }
    select.addEventListener("change", () => {
      const before = parseSocketRef(current);
      const from = parseSocketRef(select.value);
      if (from) void editor.link({ from, to }, before && { from: before, to });
      else if (before) editor.unlink({ from: before, to });
    });
    return select;
  }

  #timing(id: string, entry: NodeEntry, type: NodeType | undefined): HTMLElement[] {
    const set = (key: string) => (value: Json | undefined, isFinal: boolean) =>
      this.editor.setKey(id, key, value, isFinal);
    const select = (key: "mode" | "busy" | "on_error", options: readonly string[]) =>
      control({ enum: options }, entry[key] ?? options[0]!, key, (value) =>
        this.editor.setKey(id, key, value === options[0] ? undefined : value),
      );
    const rows: HTMLElement[] = [];
    if (!type?.register) {
      const every = textField(
        String(entry.every ?? 1),
        { "aria-label": "every", class: "field" },
        (text, isFinal) => {
          const isValid = /^[1-9]\d*$/.test(text) || /^\d+(\.\d+)? ?hz$/.test(text);
          every.classList.toggle("wrong", !isValid);
          const value = /hz/.test(text) ? text : Number(text);
          if (isValid) set("every")(value === 1 ? undefined : value, isFinal);
        },
      );
      rows.push(
        row("every", every, 'ticks, or a rate like "10 hz"'),
        row("when", this.#when(id, entry), "runs only while this flag is true"),
      );
    }
    const mode = row(
      "mode",
      select("mode", ["run", "mute", "bypass"]),
      "mute: delivers nothing; bypass: passes its input through",
    );
    if (type?.category === BOX)
      return [
        disclosure(
          "When it runs",
          entry.when !== undefined || modeOf(entry) !== "run",
          row("when", this.#when(id, entry), "its nodes run only while this flag is true"),
          mode,
        ),
      ];
    if (type?.background === "either" || type?.background === "allowed")
      rows.push(this.#place(id, entry));
    rows.push(
      row(
        "busy",
        select("busy", ["wait", "continue"]),
        "while it thinks: the game waits, or goes on",
      ),
    );
    if (entry.busy === "continue") {
      rows.push(
        row(
          "latency",
          control({ type: "integer", minimum: 1 }, entry.latency ?? 1, "latency", set("latency")),
          "ticks from call to result",
        ),
      );
    }
    rows.push(
      row(
        "on_error",
        select("on_error", ["stop", "hold", "fallback"]),
        "stop the run, keep the last output, or give out the fallback",
      ),
      mode,
    );
    const isPlain = !["every", "when", "background", "busy", "latency", "on_error", "mode"].some(
      (key) => Object.hasOwn(entry, key),
    );
    return [disclosure("When it runs", !isPlain, ...rows)];
  }

  /** Return the row that chooses the place of a background computation. */
  #place(id: string, entry: NodeEntry): HTMLElement {
    const choice = control(
      { enum: ["default", "thread", "process"] },
      entry.background ?? "default",
      "background",
      (value) => this.editor.setKey(id, "background", value === "default" ? undefined : value),
    );
    return row(
      "background",
      choice,
      "a process of its own is restarted when it dies, and the game goes on",
    );
  }

  #when(id: string, entry: NodeEntry): HTMLElement {
    const field = this.#source(id, WHEN, typeof entry.when === "string" ? entry.when : "", "when");
    (field.firstElementChild as HTMLOptionElement).textContent = "always";
    return field;
  }

  #about(id: string, type: NodeType | undefined): HTMLElement[] {
    const rename = textField(
      localId(id),
      { "aria-label": "id", class: "field" },
      (text, isFinal) => {
        if (!isFinal) return;
        const problem = this.editor.rename(id, text);
        rename.classList.toggle("wrong", problem !== null);
        rename.title = problem ?? "";
      },
    );
    const prose = type?.doc.split("\n").slice(1).join("\n").trim();
    return [
      disclosure(
        "About",
        false,
        row("id", rename, "the name that links use in the file"),
        prose ? h("pre", { class: "doc" }, prose) : null,
      ),
      h(
        "footer",
        {},
        button("Duplicate", () => this.editor.duplicate(), "quiet"),
        button("Delete", () => this.editor.remove([id], []), "quiet danger"),
      ),
    ];
  }

  #showMany(ids: readonly string[]): void {
    const { editor } = this;
    const muted = ids.every((id) => modeOf(editor.entry(id)!) === "mute");
    const bypassed = ids.every((id) => modeOf(editor.entry(id)!) === "bypass");
    const align = (event: Event) => {
      const { left, top, width, height } = (
        event.currentTarget as HTMLElement
      ).getBoundingClientRect();
      openMenu(
        [
          ...(["left", "right", "top", "bottom"] as const).map((edge) => ({
            name: `Align ${edge}`,
            run: () => editor.align(edge),
          })),
          null,
          { name: "Distribute across", run: () => editor.distribute("x") },
          { name: "Distribute down", run: () => editor.distribute("y") },
        ],
        [left, top, width, height],
      );
    };
    this.element.replaceChildren(
      h(
        "header",
        {},
        h("h2", {}, `${ids.length} nodes`),
        h("p", { class: "muted" }, ids.join(", ")),
      ),
      h(
        "div",
        { class: "button-list" },
        button("Group", () => editor.group(), ""),
        button("Make a box", () => void promptForBox(editor), ""),
        h("button", { type: "button", class: "button", onclick: align }, h("span", {}, "Align")),
        button(muted ? "Unmute" : "Mute", () => editor.toggleMode("mute"), ""),
        button(bypassed ? "End bypass" : "Bypass", () => editor.toggleMode("bypass"), ""),
        button("Duplicate", () => editor.duplicate(), ""),
        button("Delete", () => editor.remove(), "danger"),
      ),
    );
  }

  #showInside(): void {
    const source = (id: string, socket: string, current: string, label: string) =>
      this.#source(id, socket, current, label);
    this.element.replaceChildren(...insidePanel(this.editor, { section, source }));
  }

  #showWorkflow(): void {
    const { editor } = this;
    const { workflow } = editor;
    const run = isObject(workflow.run) ? workflow.run : {};
    const setRun = (key: string) => (value: Json | undefined, isFinal: boolean) => {
      const current = isObject(editor.workflow.run) ? editor.workflow.run : {};
      editor.setWorkflowKey("run", withKey(current, key, value), isFinal);
    };
    const title = textField(
      workflow.title ?? "",
      { "aria-label": "Workflow title", class: "field bare title" },
      (text, isFinal) => editor.setWorkflowKey("title", text, isFinal),
    );
    title.placeholder = "Untitled workflow";
    const description = textArea(
      workflow.description ?? "",
      {
        rows: "4",
        "aria-label": "Description",
        placeholder: "What it does, and how well it does",
      },
      (text) => editor.setWorkflowKey("description", text || undefined, false),
      () => editor.document.endGesture(),
    );
    const integerField = (key: "episodes" | "seed", least: number, value: Json | undefined) =>
      control({ type: "integer", minimum: least }, value, key, setRun(key));
    this.element.replaceChildren(
      h(
        "header",
        {},
        title,
        h(
          "p",
          { class: "muted" },
          `Workflow, ${count(Object.keys(workflow.nodes).length, "node")}`,
        ),
      ),
      section("Description", description),
      section(
        "Run",
        row("episodes", integerField("episodes", 1, run.episodes ?? 1), "games in a row"),
        row(
          "ticks",
          control({ type: "integer", minimum: 1 }, run.ticks, "ticks", setRun("ticks"), (isFinal) =>
            setRun("ticks")(undefined, isFinal),
          ),
          "at most this many frames; empty: to the end",
        ),
        row("seed", integerField("seed", 0, run.seed ?? 0), "same seed, same game"),
      ),
      section("Wires", legend(editor)),
    );
  }
}

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** Describe the time that a node took on the last ticks, and the deadlines that were missed because of it. */
function ticksText({ us }: NodeTicks, missed: number): string {
  const times = `On the last ${us.length} ticks ${durationText(meanOf(us))} each, at most ${durationText(Math.max(...us))}.`;
  return missed ? `${times} ${count(missed, "deadline")} missed because of it.` : times;
}

/** Describe the state of a node's process; "" if it never ended. */
function healthOf(node: NodeStatus): string {
  if (node.state === "lost") return "Its process ended, and no other could be started.";
  if (node.state === "restarting") return "Its process ended; another is being started.";
  return node.restarts ? `Its process was restarted ${count(node.restarts, "time")}.` : "";
}

/** Return a histogram of durations, with bars of half an octave. */
function histogram(thinkTimes: NodeStatus["thinkTimes"]): HTMLElement {
  const total = thinkTimes.reduce((sum, [, n]) => sum + n, 0);
  const most = Math.max(...thinkTimes.map(([, n]) => n));
  const ms = (value: number) => `${Number(value.toPrecision(2))} ms`;
  const from = (i: number) => thinkTimes[i]![0] / Math.SQRT2;
  /** Return the milliseconds within which a share of the thoughts was done. */
  const within = (share: number) => {
    let remaining = total * share;
    return thinkTimes.find(([, n]) => {
      remaining -= n;
      return remaining <= 0;
    })![0];
  };
  const last = thinkTimes[thinkTimes.length - 1]!;
  const shares = `half took less than ${ms(within(0.5))}, 95 % less than ${ms(within(0.95))}`;
  const summary = `${count(total, "thought")}: ${shares}, all less than ${ms(last[0])}`;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "bars", role: "img", "aria-label": summary },
      ...thinkTimes.map(([to, n], i) =>
        h("i", {
          style: `height: ${(100 * n) / most}%`,
          title: `${ms(from(i))} to ${ms(to)}: ${n}`,
        }),
      ),
    ),
    h("small", {}, summary),
  );
}

function section(name: string, ...rows: (HTMLElement | null)[]): HTMLElement {
  return h("section", { "aria-label": name }, h("h3", {}, name), ...rows);
}

function disclosure(name: string, isOpen: boolean, ...rows: (HTMLElement | null)[]): HTMLElement {
  return h("details", { open: isOpen }, h("summary", {}, name), ...rows);
}

function row(
  name: string,
  field: HTMLElement,
  doc: string,
  extra: HTMLElement | null = null,
): HTMLElement {
  return h(
    "div",
    { class: "row" },
    h("div", { class: "row-head" }, h("span", { class: "label" }, name), extra),
    field,
    doc ? h("small", {}, doc) : null,
  );
}

/** Return the legend of the colours of this workflow's links. */
function legend(editor: Editor): HTMLElement {
  const labels = new Set<string>();
  for (const entry of Object.values(editor.workflow.nodes)) {
    const type = editor.catalog.find(entry.type);
    for (const socket of [
      ...Object.values(type?.inputs ?? {}),
      ...Object.values(type?.outputs ?? {}),
    ])
      labels.add(labelOf(socket));
  }
  labels.delete("any");
  if (labels.size === 0) return h("p", { class: "muted" }, "Every kind of value has its colour.");
  return h(
    "div",
    { class: "legend" },
    ...[...labels].map((label) => h("span", {}, swatch(label), label)),
  );
}
