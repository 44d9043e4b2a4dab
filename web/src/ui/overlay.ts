/** Messages, menus, dialogs and popovers. One menu or popover is open at a time. */

import type { Box, Point } from "../model/workflow";
import { button, h, iconButton } from "./dom";

const MESSAGE_MS = 7000;
const MESSAGES = 2;

/** Remove all messages, after something succeeded. */
export const clearMessages = (): void => document.getElementById("messages")!.replaceChildren();

/** Show a message, also to screen readers. Errors stay twice as long, or until something succeeds. */
export function showMessage(
  text: string,
  kind: "info" | "error" = "info",
  action?: { name: string; run: () => void },
): void {
  const layer = document.getElementById("messages")!;
  if (kind === "info") clearMessages();
  for (const old of layer.children) if ((old as HTMLElement).dataset.text === text) old.remove();
  const message = h("div", { class: `message ${kind}`, data: { text } }, h("p", {}, text));
  const close = () => message.remove();
  if (action) {
    message.append(
      button(
        action.name,
        () => {
          close();
          action.run();
        },
        "quiet",
      ),
    );
  }
  message.append(iconButton("close", "Dismiss", close));
  layer.append(message);
  while (layer.children.length > MESSAGES) layer.firstElementChild!.remove();
  setTimeout(close, kind === "error" ? MESSAGE_MS * 2 : MESSAGE_MS);
}

let closeOpenPopover: (() => void) | null = null;

export const closePopover = (): void => closeOpenPopover?.();

/** Show an element at a point or below a box, within the window. Escape or a click elsewhere closes it. */
export function openPopover(
  content: HTMLElement,
  at: Point | Box,
  onclose?: () => void,
): () => void {
  closeOpenPopover?.();
  const before = document.activeElement as HTMLElement | null;
  content.classList.add("popover");
  document.body.append(content);
  const { width, height } = content.getBoundingClientRect();
  const [x, y] = [at[0], at[1] + (at.length === 4 ? at[3] + 4 : 0)];
  const flipped =
    at.length === 4 && y + height > innerHeight - 8
      ? at[1] - height - 4
      : Math.min(y, innerHeight - height - 8);
  content.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
  content.style.top = `${Math.max(8, flipped)}px`;
  const outside = (event: Event) => {
    if (!content.contains(event.target as Node)) close();
  };
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  };
  const close = () => {
    if (closeOpenPopover !== close) return;
    closeOpenPopover = null;
    removeEventListener("pointerdown", outside, true);
    const hadFocus = content.contains(document.activeElement);
    content.remove();
    if (hadFocus) before?.focus({ preventScroll: true });
    onclose?.();
  };
  closeOpenPopover = close;
  addEventListener("pointerdown", outside, true);
  content.addEventListener("keydown", closeOnEscape);
  return close;
}

export interface MenuItem {
  readonly name: string;
  readonly keys?: string;
  readonly run: () => void;
  readonly disabled?: boolean;
  readonly danger?: boolean;
  /** A second line. */
  readonly detail?: string;
  /** The item that is in use, in a menu that chooses one. */
  readonly isChosen?: boolean;
}

export function openMenu(items: readonly (MenuItem | null)[], at: Point | Box): void {
  const list = h("div", { class: "menu", role: "menu", tabindex: "-1" });
  for (const item of items) {
    if (item === null) {
      list.append(h("hr"));
      continue;
    }
    const run = () => {
      closeOpenPopover?.();
      item.run();
    };
    const keys = item.keys ? h("kbd", {}, item.keys) : null;
    list.append(
      h(
        "button",
        {
          type: "button",
          role: item.isChosen === undefined ? "menuitem" : "menuitemradio",
          "aria-checked": item.isChosen === undefined ? null : String(item.isChosen),
          disabled: item.disabled ?? false,
          class: item.danger ? "danger" : "",
          onclick: run,
        },
        h("span", {}, item.name, item.detail ? h("small", {}, item.detail) : null),
        keys,
      ),
    );
  }
  openPopover(list, at);
  const entries = [...list.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const step = event.key === "ArrowDown" ? 1 : -1;
    event.preventDefault();
    const index = entries.indexOf(document.activeElement as HTMLButtonElement);
    entries[(index + step + entries.length) % entries.length]?.focus();
  });
  const first = entries.find((entry) => entry.ariaChecked === "true") ?? entries[0];
  first?.focus();
}

/** Open a modal dialog. Resolves to the value of the button that closed it, or null. */
export function openDialog(
  title: string,
  body: readonly (Node | string)[],
  actions: readonly { name: string; value: string; kind?: string }[],
  kind = "",
): Promise<string | null> {
  closeOpenPopover?.();
  return new Promise((resolve) => {
    const form = h("form", { method: "dialog" });
    const element = h(
      "dialog",
      { class: `dialog ${kind}`, tabindex: "-1", "aria-label": title },
      h(
        "header",
        {},
        h("h2", {}, title),
        iconButton("close", "Close", () => element.close()),
      ),
      form,
    );
    form.append(h("div", { class: "dialog-body" }, ...body));
    if (actions.length) {
      // a button without a value does not submit, so Enter in a field presses the first one with a value
      form.append(
        h(
          "footer",
          {},
          ...actions.map(({ name, value, kind: look }) =>
            value
              ? h("button", { value, class: `button ${look ?? ""}` }, h("span", {}, name))
              : button(name, () => element.close(), look),
          ),
        ),
      );
    }
    element.addEventListener("close", () => {
      element.remove();
      resolve(element.returnValue || null);
    });
    element.addEventListener("click", (event) => {
      if (event.target === element) element.close();
    });
    document.body.append(element);
    element.showModal();
    (element.querySelector<HTMLElement>("[autofocus]") ?? element).focus();
  });
}

/** Ask for a line of text. Resolves to null if there is none. */
export async function promptForText(
  title: string,
  label: string,
  value: string,
  action: string,
): Promise<string | null> {
  const input = h("input", {
    class: "field",
    value,
    "aria-label": label,
    autofocus: true,
    spellcheck: "false",
  });
  queueMicrotask(() => input.select());
  const answer = await openDialog(
    title,
    [h("label", { class: "stack" }, h("span", { class: "label" }, label), input)],
    [
      { name: "Cancel", value: "", kind: "quiet" },
      { name: action, value: "ok", kind: "primary" },
    ],
    "narrow",
  );
  return answer === "ok" && input.value.trim() ? input.value.trim() : null;
}
