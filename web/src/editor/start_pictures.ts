/** The pictures that episodes begin with, on the consoles of a workflow that was not run yet. */

import type { Editor } from "./editor";

export class StartPictures {
  /** Node → address of its picture. */
  #addresses: ReadonlyMap<string, string> = new Map();
  /** Address → picture, loaded or not. */
  #images: ReadonlyMap<string, HTMLImageElement> = new Map();

  constructor(private readonly editor: Editor) {
    editor.on("faults", () => void this.update());
  }

  /** Load the pictures of the workflow as it is now; those that it has already are kept. */
  async update(): Promise<void> {
    const { editor } = this;
    const { workflow } = editor;
    const addresses = new Map<string, string>();
    for (const [id, entry] of Object.entries(workflow.nodes)) {
      if (!editor.typeOf(id)?.console || editor.faultsOf(id).length) continue;
      const address = await editor.games.startPicture(entry);
      if (address !== null) addresses.set(id, address);
    }
    if (editor.workflow !== workflow) return; // it is called again when the change is checked
    this.#addresses = addresses;
    this.#images = new Map(
      [...new Set(addresses.values())].map((address) => [
        address,
        this.#images.get(address) ?? this.#load(address),
      ]),
    );
    this.#show();
  }

  #load(address: string): HTMLImageElement {
    const image = new Image();
    image.addEventListener("load", () => this.#show());
    image.src = address;
    return image;
  }

  #show(): void {
    const pictures = new Map<string, HTMLImageElement>();
    for (const [id, address] of this.#addresses) {
      const image = this.#images.get(address);
      if (image?.complete && image.naturalWidth > 0) pictures.set(id, image);
    }
    this.editor.board.annotate({ pictures });
  }
}
