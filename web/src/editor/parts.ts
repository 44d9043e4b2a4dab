/** The user's parts: subgraphs that are kept on the server, to be inserted into workflows. */

import { api, type Part, RequestError } from "../api";
import { boxTypes } from "../model/box_types";
import type { NodeType } from "../model/catalog";
import { own } from "../model/json";
import { neededBy } from "../model/subgraphs";
import type { Subgraph } from "../model/workflow";
import { promptForText, showMessage } from "../ui/overlay";
import type { Editor } from "./editor";

/** The category of parts in the palette. */
const PARTS = "parts";

export class Parts {
  readonly #listeners = new Set<() => void>();

  constructor(private readonly editor: Editor) {}

  /** Call a function when the parts have changed. */
  on(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async load(): Promise<void> {
    const parts = await api.parts().catch(() => []);
    const sound = parts.filter((part) => part.error === null);
    this.editor.parts = sound;
    this.editor.catalog.setParts(sound.flatMap((part) => this.#typeOf(part) ?? []));
    const bad = parts.find((part) => part.error !== null);
    if (bad?.error) showMessage(`Not shown: ${bad.error}`, "error");
    for (const listener of this.#listeners) listener();
  }

  #typeOf({ name, part, defs }: Part): NodeType | undefined {
    const types = boxTypes(defs);
    const find = (type: string): NodeType | undefined =>
      type.startsWith("defs/") ? types(type, find) : this.editor.catalog.find(type);
    const found = types(`defs/${part}`, find);
    const { title, description } = own(defs, part) ?? {};
    const summary = [title, description].filter(Boolean).join(": ");
    return found && { ...found, type: `${PARTS}/${name}`, category: PARTS, summary };
  }

  /** Ask for a name, and save a subgraph of the workflow under it, in its next version. */
  async save(name: string, subgraph: Subgraph): Promise<void> {
    const { document, parts } = this.editor;
    const proposed = subgraph.part ?? name;
    const wanted = (await promptForText("Save as a part", "Name", proposed, "Save"))?.trim();
    if (!wanted) return;
    if (wanted !== subgraph.part && parts.some((part) => part.name === wanted)) {
      showMessage(`There is a part ${wanted} already. Save under another name.`, "error");
      return;
    }
    const { part: _, ...content } = subgraph;
    const defs = { ...neededBy(document.workflow, subgraph.nodes), [name]: content };
    try {
      const saved = await api.savePart(wanted, name, defs);
      const { version = 1 } = saved.defs[name]!;
      this.editor.setPart(name, wanted, version);
      showMessage(`Saved as the part ${wanted}, version ${version}.`);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      showMessage(error.message, "error");
    }
  }
}
