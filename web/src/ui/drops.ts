/** Files and node types dropped on the canvas. */

import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import { closeGallery } from "./gallery";

const TYPE = "application/x-minibrains-type";

export function watchDrops(stage: HTMLElement, editor: Editor, files: Files): void {
  const mark = (isOn: boolean) => stage.classList.toggle("dropping", isOn);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(
      stage.contains(event.target as Node) &&
        (event.dataTransfer?.types.includes("Files") ?? false),
    );
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  addEventListener("drop", async (event) => {
    event.preventDefault();
    mark(false);
    const client = [event.clientX, event.clientY] as const;
    const type = event.dataTransfer?.getData(TYPE);
    if (type && editor.catalog.find(type)) {
      if (stage.contains(event.target as Node)) editor.add(type, editor.board.fromClient(client));
      return;
    }
    const { left, right, top, bottom } = stage.getBoundingClientRect(); // a message may lie over the node
    const isOver = client[0] > left && client[0] < right && client[1] > top && client[1] < bottom;
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length > 0) closeGallery(); // what is opened would lie behind it
    const workflows = dropped.filter(({ name }) => /\.(json|png|mp4)$/i.test(name));
    const others = dropped.filter((file) => !workflows.includes(file));
    const node = isOver && !workflows.length ? editor.board.nodeAt(client) : null;
    // one dialog at a time, and brains after a workflow that may use them
    for (const file of [...workflows, ...others]) await files.openFile(file, node);
  });
}
