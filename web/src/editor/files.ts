/** Opening and saving of files. Nothing is overwritten without asking. */

import { api, RequestError, SaveConflict } from "../api";
import { readCarried, withCarried } from "../model/carried";
import { diffWorkflows } from "../model/diff";
import { dumpJson, type JsonObject } from "../model/json";
import { EMPTY, parseWorkflow, stem, type Workflow, WorkflowError } from "../model/workflow";
import { download, h } from "../ui/dom";
import { openDialog, promptForText, showMessage } from "../ui/overlay";
import type { Editor } from "./editor";

/** Milliseconds that a download gets to begin. */
const DOWNLOAD_MS = 60_000;

export class Files {
  /** Paints the picture that a workflow is saved with; null: none. */
  pictureToSave: () => Promise<HTMLCanvasElement | null> = async () => null;

  constructor(private readonly editor: Editor) {}

  /** Show errors of the server, and of workflows, as messages. */
  async #reportErrors(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof RequestError) && !(error instanceof WorkflowError)) throw error;
      showMessage(error.message, "error");
    }
  }

  /** Ask about unsaved changes. Return true if the workflow may be closed. */
  async confirmLeave(): Promise<boolean> {
    const { document } = this.editor;
    if (document.isSaved || Object.keys(document.workflow.nodes).length === 0) return true;
    const answer = await openDialog(
      "Save your changes?",
      [
        h(
          "p",
          {},
          document.file
            ? `${document.file} has changes that are not saved.`
            : "This workflow was never saved.",
        ),
      ],
      [
        { name: "Cancel", value: "", kind: "quiet" },
        { name: "Discard", value: "discard" },
        { name: "Save", value: "save", kind: "primary" },
      ],
      "narrow",
    );
    if (answer === "save") return this.save();
    return answer === "discard";
  }

  async create(): Promise<void> {
    if (await this.confirmLeave()) this.#show(EMPTY, null, null, true);
  }

  async open(file: string): Promise<void> {
    if (!(await this.confirmLeave())) return;
    await this.#reportErrors(async () => {
      const { workflow, sha256 } = await api.open(file);
      this.#show(workflow, file, sha256, true);
    });
  }

  async openTemplate(name: string): Promise<void> {
    if (!(await this.confirmLeave())) return;
    await this.#reportErrors(async () => this.#show(await api.template(name), null, null, true));
  }

  /** Open a workflow from text. Return true if it was opened. */
  async openText(text: string): Promise<boolean> {
    let isOpen = false;
    await this.#reportErrors(async () => {
      const workflow = parseWorkflow(text);
      isOpen = await this.confirmLeave();
      if (isOpen) this.#show(workflow, null, null, false);
    });
    return isOpen;
  }

  #show(workflow: Workflow, file: string | null, sha256: string | null, isSaved: boolean): void {
    this.editor.document.load(workflow, file, sha256, isSaved);
    this.editor.board.select([]);
    this.editor.board.showOpened();
  }

  /** The name of the workflow's file without its suffix, or a proposal for it. */
  get #stem(): string {
    const { file, workflow } = this.editor.document;
    return file ? stem(file) : slug(workflow.title ?? "") || "workflow";
  }

  /** Save the workflow. Return true if it was saved. */
  async save(as = false): Promise<boolean> {
    const { document } = this.editor;
    if (!this.editor.isChecked) await this.editor.check(); // so that a workflow of an older version is saved in its migrated form
    if (document.file && !as) return this.#write(document.file, document.sha256);
    const name = await promptForText("Save workflow", "File name", this.#stem, "Save");
    return name === null ? false : this.#write(`${name.replace(/\.json$/, "")}.json`, null);
  }

  async #write(file: string, before: string | null): Promise<boolean> {
    const { document } = this.editor;
    const { workflow, loadCount } = document;
    const isOpen = () => document.loadCount === loadCount; // another may be opened while the server writes this one
    try {
      const sha256 = await api.save(file, dumpJson(workflow), before);
      if (isOpen()) {
        document.savedAs(file, sha256, workflow);
        await this.#savePicture(file, workflow);
      }
      showMessage(`Saved as ${file}.`);
      return true;
    } catch (error) {
      if (error instanceof SaveConflict && isOpen())
        return this.#resolveConflict(file, error, before === null);
      if (!(error instanceof RequestError) && !(error instanceof SaveConflict)) throw error;
      showMessage(error.message, "error");
      return false;
    }
  }

  /** Save what the game shows as the picture of a workflow; without any, an earlier picture stays. */
  async #savePicture(file: string, workflow: Workflow): Promise<void> {
    const picture = await this.pictureToSave();
    if (picture) await api.savePicture(file, await pngOf(picture, workflow));
  }

  /** The file on the disk is not the one that was opened: show the differences, and let the user decide. */
  async #resolveConflict(
    file: string,
    { sha256, workflow: theirs }: SaveConflict,
    isNew: boolean,
  ): Promise<boolean> {
    const { document } = this.editor;
    const isGone = sha256 === null;
    const differences = theirs ? diffWorkflows(theirs, document.workflow) : [];
    const list = h(
      "ul",
      { class: "changes" },
      ...differences
        .slice(0, 40)
        .map(({ what, name, details }) =>
          h(
            "li",
            { class: what },
            h("b", {}, name),
            h("span", {}, ` ${what} in yours`),
            ...details.map((text) => h("small", {}, text)),
          ),
        ),
    );
    const content = differences.length
      ? list
      : h("p", { class: "muted" }, "There is no difference in content.");
    let title = `${file} was changed elsewhere`;
    let explanation = "It was saved somewhere else since you opened it. This is how yours differs:";
    if (isGone) {
      title = `${file} is gone`;
      explanation = "It was deleted or renamed since you opened it.";
    } else if (isNew) {
      title = `${file} exists already`;
      explanation = "Saving would replace it. This is how yours differs:";
    }
    const answer = await openDialog(
      title,
      [h("p", {}, explanation), isGone ? "" : content],
      [
        { name: "Cancel", value: "", kind: "quiet" },
        ...(theirs ? [{ name: "Open theirs", value: "theirs" }] : []),
        { name: "Save under another name", value: "other" },
        {
          name: isGone ? "Save it again" : "Replace with mine",
          value: "mine",
          kind: isGone ? "primary" : "danger",
        },
      ],
    );
    if (answer === "mine") return this.#write(file, sha256);
    if (answer === "other") return this.save(true);
    if (answer === "theirs" && theirs) {
      document.commit(theirs); // a step, so that undo brings back what was not saved
      document.savedAs(file, sha256, theirs);
      this.editor.board.showOpened();
    }
    return false;
  }

  async rename(file: string): Promise<void> {
    const name = await promptForText("Rename workflow", "File name", stem(file), "Rename");
    if (name === null) return;
    const wanted = `${name.replace(/\.json$/, "")}.json`;
    await this.#reportErrors(async () => {
      await api.rename(file, wanted);
      if (this.editor.document.file === file) this.editor.document.moved(wanted);
    });
  }

  async remove(file: string): Promise<void> {
    await this.#reportErrors(async () => {
      await api.remove(file);
      if (this.editor.document.file === file) this.editor.document.moved(null);
      showMessage(`${file} is in the trash folder.`);
    });
  }

  /** Download the workflow with its brains as one file. */
  async download(): Promise<void> {
    await this.#reportErrors(async () => {
      const { workflow } = this.editor;
      this.#save(await api.exportWorkflow(workflow, `${this.#stem}.json`), "zip");
    });
  }

  /** Download the workflow of a run with its brains and its tape as one file. */
  async downloadRun(run: string, workflow: JsonObject, title: string): Promise<void> {
    await this.#reportErrors(async () => {
      const name = slug(title) || "workflow";
      this.#save(await api.exportWorkflow(workflow, `${name}.json`, run), "zip", name);
    });
  }

  /** Download a picture, which carries the workflow as it is now. */
  async downloadPicture(picture: HTMLCanvasElement): Promise<void> {
    await this.#reportErrors(async () =>
      this.#save(await pngOf(picture, this.editor.workflow), "png"),
    );
  }

  /** Have the browser save a file; without a name, with that of the workflow. */
  #save(content: Blob, suffix: string, name = this.#stem.split("/").at(-1)): void {
    const address = URL.createObjectURL(content);
    download(address, `${name}.${suffix}`);
    setTimeout(() => URL.revokeObjectURL(address), DOWNLOAD_MS);
  }

  /** Open a file from this computer: a workflow, a brain for a node, or a workflow with its brains. */
  async openFile(file: File, node: string | null): Promise<void> {
    const name = file.name.toLowerCase();
    if (name.endsWith(".safetensors")) await this.dropBrain(file, node);
    else if (name.endsWith(".json")) await this.openText(await file.text());
    else if (name.endsWith(".zip")) await this.#importWorkflow(file);
    else if (/\.(png|mp4)$/.test(name)) await this.#openCarried(file);
    else
      showMessage(
        `${file.name} is neither a workflow (.json, .zip, .png, .mp4) nor a brain (.safetensors).`,
        "error",
      );
  }

  /** Open the workflow that a picture or a clip carries. */
  async #openCarried(file: File): Promise<void> {
    await this.#reportErrors(async () => {
      const text = await readCarried(file);
      if (text !== null) await this.openText(text);
      else
        showMessage(
          `${file.name} carries no workflow: it is not a picture or clip that was saved here.`,
          "error",
        );
    });
  }

  async #importWorkflow(file: File): Promise<void> {
    await this.#reportErrors(async () => {
      const { workflow, brains, tape, remarks } = await api.importWorkflow(file);
      await this.open(workflow);
      const count = brains === 1 ? "1 brain" : `${brains} brains`;
      const replay = tape === null ? "" : ` Its game: python -m server replay ${tape}`;
      showMessage(`${workflow} was imported with ${count}.${replay}`);
      for (const remark of remarks) showMessage(remark, "error");
    });
  }

  /** Upload a brain that was dropped: on a node, for this node; elsewhere, for all nodes that use a file of its name. */
  async dropBrain(file: File, node: string | null): Promise<void> {
    await this.#reportErrors(async () => {
      const brain = await api.uploadBrain(file);
      const before = brain.renamed_from;
      const isTaken = before === null ? "" : ` Another brain is called ${before}.`;
      const wanted = node ? this.editor.typeOf(node)?.brain : null;
      if (node && wanted && wanted.kind === brain.kind) {
        this.editor.setKey(node, "brain", brain.file);
        showMessage(`${node} has the brain ${brain.file} now.${isTaken}`);
      } else if (node) {
        const takes = wanted ? `takes a brain of kind ${wanted.kind}` : "has no brain";
        showMessage(
          `${node} ${takes}; ${brain.file} is one of kind ${brain.kind}. It was uploaded, and nothing else changed.`,
          "error",
        );
      } else {
        const moved =
          before === null
            ? []
            : this.editor.moveBrain(before, brain.file, brain.kind, brain.sha256);
        const have = moved.length
          ? ` ${moved.join(", ")} ${moved.length === 1 ? "has" : "have"} this one now.`
          : "";
        showMessage(`The brain ${brain.file} (${brain.kind}) was uploaded.${isTaken}${have}`);
      }
    });
  }
}

/** Return a picture as a PNG that carries a workflow. */
async function pngOf(picture: HTMLCanvasElement, workflow: Workflow): Promise<Blob> {
  const plain = await new Promise<Blob | null>((resolve) => picture.toBlob(resolve));
  if (!plain) throw new WorkflowError("The picture is too large for this browser.");
  const bytes = new Uint8Array(await plain.arrayBuffer());
  return new Blob([withCarried(bytes, JSON.stringify(workflow))], { type: "image/png" });
}

/** Return a file name made from the first words of a title. */
function slug(title: string): string {
  let name = "";
  for (const word of title.toLowerCase().match(/[a-z0-9]+/g) ?? []) {
    if (name && name.length + word.length >= 40) break;
    name += (name && "_") + word;
  }
  return name;
}
