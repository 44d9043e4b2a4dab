/** The way to the inside of a box that is shown, with a button for everything around it. */

import type { Editor } from "../editor/editor";
import { h, icon } from "./dom";

export function showCrumbs(container: HTMLElement, editor: Editor): void {
  const show = () => {
    const { path } = editor;
    container.hidden = path === "";
    if (path === "") {
      container.replaceChildren();
      return;
    }
    const ids = path.split("/");
    const paths = ids.map((_, i) => ids.slice(0, i + 1).join("/"));
    const whole = editor.document.workflow;
    const steps = [
      { name: whole.title || "Workflow", path: "" },
      ...paths.map((each) => ({ name: editor.titleAt(each), path: each })),
    ];
    container.replaceChildren(
      ...steps.flatMap((step, i) => {
        const isHere = step.path === path;
        const crumb = isHere
          ? h("b", { "aria-current": "page" }, step.name)
          : h("button", { type: "button", onclick: () => editor.enter(step.path) }, step.name);
        return i === 0 ? [crumb] : [icon("right"), crumb];
      }),
    );
  };
  editor.on("path", show);
  editor.on("document", show);
  show();
}
