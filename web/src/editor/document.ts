/** The open workflow: its history, its file, and its draft in the browser's storage. */

import { History } from "../model/history";
import { withoutReplacedNodes } from "../model/replaced_nodes";
import { EMPTY, parseWorkflow, type Workflow } from "../model/workflow";

const STORE_DELAY_MS = 300;
const MAX_DRAFTS = 8;
const PREFIX = "minibrains.draft.";
const LAST = "minibrains.last";

interface Draft {
  readonly file: string | null;
  readonly sha256: string | null;
  readonly clean: boolean;
  readonly run: string | null;
  readonly time: number;
  readonly workflow: string;
}

export class OpenDocument {
  #history = new History(EMPTY);
  #loadCount = 0;
  #saved: Workflow | null = EMPTY;
  #file: string | null = null;
  #sha256: string | null = null;
  #run: string | null = null;
  readonly #key: string;
  readonly #before = sessionStorage.getItem(LAST);
  readonly #listeners = new Set<(workflow: Workflow) => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    // a duplicated tab begins with the storage of the other one, but needs a draft of its own
    const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
    this.#key =
      entry?.type === "reload" && this.#before
        ? this.#before
        : PREFIX + Math.random().toString(36).slice(2, 10);
    sessionStorage.setItem(LAST, this.#key);
    addEventListener("pagehide", () => this.#storeDraft());
  }

  get workflow(): Workflow {
    return this.#history.present;
  }

  get file(): string | null {
    return this.#file;
  }

  get sha256(): string | null {
    return this.#sha256;
  }

  /** The run that is shown beside this workflow, so that a reloaded page can show it again. */
  get run(): string | null {
    return this.#run;
  }

  set run(id: string | null) {
    this.#run = id;
    this.#storeDraft();
  }

  get isSaved(): boolean {
    return this.#saved === this.workflow;
  }

  /** Number of calls of `load`: shows whether a late answer is still about this document. */
  get loadCount(): number {
    return this.#loadCount;
  }

  get canUndo(): boolean {
    return this.#history.canUndo;
  }

  get canRedo(): boolean {
    return this.#history.canRedo;
  }

  onChange(listener: (workflow: Workflow) => void): void {
    this.#listeners.add(listener);
  }

  commit(next: Workflow, gesture: string | null = null): void {
    if (this.#history.commit(next, gesture)) this.#changed();
  }

  endGesture(): void {
    this.#history.endGesture();
  }

  undo(): void {
    if (this.#history.undo()) this.#changed();
  }

  redo(): void {
    if (this.#history.redo()) this.#changed();
  }

  /** Replace the workflow by its migrated form. This is not an undo step, and does not count as an unsaved change. */
  migrate(workflow: Workflow): void {
    if (this.isSaved) this.#saved = workflow;
    this.#history.replace(workflow);
    this.#changed();
  }

  /** Remove a commit that turned out to be invalid, unless there was another one since. */
  withdraw(commit: Workflow): boolean {
    if (this.workflow !== commit || !this.#history.withdraw()) return false;
    this.#changed();
    return true;
  }

  /** Open another workflow, with a history of its own. */
  load(
    opened: Workflow,
    file: string | null,
    sha256: string | null,
    isSaved = file !== null,
  ): void {
    const workflow = withoutReplacedNodes(opened);
    this.#history = new History(workflow);
    this.#loadCount++;
    this.#file = file;
    this.#sha256 = sha256;
    this.#saved = isSaved ? workflow : null;
    this.#run = null;
    this.#changed();
  }

  /** Note that the workflow was saved to this file. */
  savedAs(file: string, sha256: string | null, workflow: Workflow): void {
    this.#file = file;
    this.#sha256 = sha256;
    this.#saved = workflow;
    this.#changed();
  }

  /** Note that the file was renamed, or deleted (null). */
  moved(file: string | null): void {
    this.#file = file;
    if (file === null) {
      this.#sha256 = null;
      this.#saved = null;
    }
    this.#changed();
  }

  /** Open the draft of this tab, or else of the last tab. Return false if there is none with nodes. */
  restore(): boolean {
    const text =
      localStorage.getItem(this.#before ?? "") ??
      localStorage.getItem(localStorage.getItem(LAST) ?? "");
    if (!text) return false;
    try {
      const draft = JSON.parse(text) as Draft;
      this.load(parseWorkflow(draft.workflow), draft.file, draft.sha256, draft.clean);
      this.#run = draft.run ?? null;
      return Object.keys(this.workflow.nodes).length > 0;
    } catch {
      return false; // as if there were no draft
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener(this.workflow);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#storeDraft(), STORE_DELAY_MS);
  }

  #storeDraft(): void {
    const draft: Draft = {
      file: this.#file,
      sha256: this.#sha256,
      clean: this.isSaved,
      run: this.#run,
      time: Date.now(),
      workflow: JSON.stringify(this.workflow),
    };
    try {
      localStorage.setItem(this.#key, JSON.stringify(draft));
      localStorage.setItem(LAST, this.#key);
      const keys = Object.keys(localStorage).filter(
        (key) => key.startsWith(PREFIX) && key !== this.#key,
      );
      const age = (key: string) =>
        (JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Draft>).time ?? 0;
      for (const key of keys.sort((a, b) => age(b) - age(a)).slice(MAX_DRAFTS - 1))
        localStorage.removeItem(key);
    } catch {
      // the storage is full or forbidden: there is no draft
    }
  }
}
