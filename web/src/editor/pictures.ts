/** Pictures of the workflow, and of the game that it plays. */

import type { Editor } from "./editor";
import type { Session } from "./session";

export class Pictures {
  constructor(
    private readonly editor: Editor,
    private readonly session: Session,
  ) {}

  /** Paint the whole workflow, with what is shown on the screens of its nodes. */
  async ofWorkflow(): Promise<HTMLCanvasElement> {
    const { board } = this.editor;
    const pictures = new Map<string, ImageBitmap>();
    for (const { id } of board.screens()) {
      const shown = await this.session.shownOn(id);
      if (shown) pictures.set(id, shown);
    }
    return board.picture(pictures);
  }

  /** Paint what the first console shows, or another node; null if it shows nothing. */
  async ofGame(node = this.#console): Promise<HTMLCanvasElement | null> {
    const shown = node === undefined ? null : await this.session.shownOn(node);
    if (!shown) return null;
    const picture = document.createElement("canvas");
    Object.assign(picture, { width: shown.width, height: shown.height });
    picture.getContext("2d")!.drawImage(shown, 0, 0);
    return picture;
  }

  get #console(): string | undefined {
    const { editor } = this;
    return Object.keys(editor.workflow.nodes).find((id) => editor.typeOf(id)?.console);
  }
}
