"""Page objects: what people do in the editor, by node id and socket name."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Dialog, Locator, Page, expect

from tests.support.timeouts import TIMEOUT

Point = tuple[float, float]
THEMES: Final = ("dark", "light")
_PARTS = "const { editor, session } = globalThis.minibrains ?? {};"
_SITUATION = f"""() => {{
  {_PARTS}
  const {{ state, tick, error }} = session?.run ?? {{}};
  const messages = [...document.querySelectorAll(".message")].map((each) => each.innerText);
  return JSON.stringify({{ run: {{ state, tick, error }}, faults: editor?.faults, messages }});
}}"""
"""What the page shows, for the message of a test that waits for something else."""
_END_TRANSITIONS = """() => {
  const transitions = document.getAnimations().filter((each) => each instanceof CSSTransition);
  for (const each of transitions) each.finish();
  return transitions.length;
}"""


def end_transitions(page: Page) -> None:
    """End all transitions of styles, and those that begin with the end of others."""
    end = time.monotonic() + TIMEOUT
    while page.evaluate(_END_TRANSITIONS):
        assert time.monotonic() < end, "transitions do not come to an end"
        page.wait_for_timeout(30)


class EditorPage:
    """The editor in one tab. Everything that the page complains about is kept in `errors`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self._held: set[str] = set()
        page.on("pageerror", lambda error: self.errors.append(f"{error}\n{error.stack}"))
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type == "error" else None,
        )
        page.set_default_timeout(1000 * TIMEOUT)
        page.on("dialog", self._refuse)

    def _refuse(self, dialog: Dialog) -> None:
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, address: str) -> EditorPage:
        self.page.goto(address)
        return self.ready()

    def forget(self, address: str) -> None:
        """Leave the editor of this server, and everything that was done in this tab."""
        self.page.unroute_all(behavior="ignoreErrors")
        for key in list(self._held):
            self.release(key)
        self.page.mouse.up()
        self.page.mouse.move(0, 0)
        # what is still loading holds up the next page, because connections are few
        self.page.evaluate("() => stop()")
        # when the editor is left it stores its draft, so its storage is cleared on another page
        self.page.goto(f"{address}api/queue")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()
        self.errors.clear()

    def ready(self) -> EditorPage:
        """Once the page is there and has its connection."""
        self.until("globalThis.minibrains?.session.connected")
        return self

    def until(self, condition: str, seconds: float = TIMEOUT) -> None:
        """Wait until an expression is true.

        (Playwright's own way evaluates in the page, which its policy forbids.)
        """
        end = time.monotonic() + seconds
        while not self.page.evaluate(f"() => {{ {_PARTS} return {condition}; }}"):
            assert time.monotonic() < end, (
                f"waited {seconds} s for: {condition}; {self.page.evaluate(_SITUATION)}"
            )
            self.page.wait_for_timeout(30)

    def at_rest(self, expression: str) -> Any:
        """Return the value of an expression once it has not changed for a second."""
        end = time.monotonic() + TIMEOUT
        while True:
            before = self.ask(expression)
            self.page.wait_for_timeout(1000)
            if self.ask(expression) == before:
                return before
            assert time.monotonic() < end, f"it goes on changing: {expression}"

    def start_with(self, template: str) -> EditorPage:
        """Choose from the gallery of the first start; "" is the empty canvas."""
        self.page.locator(f'.card[data-template="{template}"]').click()
        expect(self.page.locator(".gallery")).to_have_count(0)
        if template:
            self.until("Object.keys(editor.workflow.nodes).length > 0")
        return self

    # looking

    def screenshot(self, folder: Path | None, name: str) -> None:
        """Take a picture of the page for the documentation, if a folder is given for these."""
        if folder is not None:
            self.page.screenshot(path=folder / f"{name}.png")

    def in_each_theme(self) -> Iterator[str]:
        """Show the page in the colours of each theme, and yield the theme's name."""
        for theme in THEMES:
            self.page.emulate_media(color_scheme=theme)
            self.until(f"document.documentElement.dataset.theme === '{theme}'")
            end_transitions(self.page)
            yield theme

    def ask(self, expression: str) -> Any:
        """Ask the page's own state; `editor` and `session` are at hand."""
        return self.page.evaluate(f"() => {{ {_PARTS} return {expression}; }}")

    @property
    def workflow(self) -> dict[str, Any]:
        result: dict[str, Any] = self.ask("editor.workflow")
        return result

    def socket(self, name: str, side: str) -> Point:
        node, _, socket = name.partition(".")
        x, y = self.ask(
            f"editor.board.socketAt({json.dumps(node)}, {json.dumps(side)}, {json.dumps(socket)})"
        )
        return x, y

    def node(self, node: str) -> Point:
        """The middle of a node's title bar."""
        x, y = self.ask(
            "((box) => editor.board.toClient([box[0] + box[2] / 2, "
            f"box[1] + 16]))(editor.board.boxes.get({json.dumps(node)}))"
        )
        return x, y

    def part(self, node: str, widget: str | None = None) -> Point:
        """The middle of a widget on a node, or of its brain."""
        part = {"part": "widget", "name": widget} if widget else {"part": "brain"}
        x, y, width, height = self.ask(
            f"editor.board.partBox({json.dumps(node)}, {json.dumps(part)})"
        )
        return x + width / 2, y + height / 2

    def at(self, x: float, y: float) -> Point:
        """A point of the canvas, in pixels from its corner."""
        box = self.page.locator("#board").bounding_box()
        assert box
        return box["x"] + x, box["y"] + y

    def frames(self, node: str, at_least: int = 0) -> int:
        """How many pictures of a node were painted, once there are so many."""
        shown = f"document.querySelector('.screen[data-node=\"{node}\"]')"
        self.until(f"Number({shown}?.dataset.frames ?? 0) >= {at_least}")
        return int(
            self.page.locator(f'.screen[data-node="{node}"]').get_attribute("data-frames") or 0
        )

    def picture(self, node: str) -> str:
        """The last picture of a node, as a data URL.

        A screenshot waits for a moment in which the page paints nothing, and there may be none.
        """
        picture: str = self.page.locator(f'.screen[data-node="{node}"]').evaluate("""(shown) => {
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [shown.width, shown.height];
            copy.getContext("2d").drawImage(shown, 0, 0);
            return copy.toDataURL();
        }""")
        return picture

    @property
    def message(self) -> Locator:
        return self.page.locator(".message").last

    @property
    def status(self) -> Locator:
        return self.page.locator(".run-status")

    # doing

    def set_many_episodes(self) -> None:
        """Make the run so long that it is not over before the test, however busy the machine is."""
        self.deselect()
        episodes = self.page.get_by_label("episodes")
        episodes.fill("1000")
        episodes.press("Tab")

    def run(self) -> None:
        self.page.get_by_role("button", name="Run", exact=True).click()

    def _repeat(self, click: Callable[[], None], worked: Callable[[], bool]) -> None:
        """Click, and click again if nothing came of it, as a person does.

        On a busy machine the two clicks of a double click may come too far apart.
        """
        end = time.monotonic() + TIMEOUT
        while not worked():
            assert time.monotonic() < end, "clicked again and again, and nothing came of it"
            click()
            soon = time.monotonic() + 2
            while not worked() and time.monotonic() < soon:
                self.page.wait_for_timeout(30)

    def add(self, type_: str, x: float, y: float) -> str:
        """Double click the canvas and choose a type in the palette; returns the new node's id."""
        before = set(self.workflow["nodes"])
        palette = self.page.locator(".palette-input")
        self._repeat(lambda: self.page.mouse.dblclick(*self.at(x, y)), palette.is_visible)
        self.choose(type_)
        new: str
        (new,) = set(self.workflow["nodes"]) - before
        return new

    def choose(self, text: str) -> None:
        self.page.locator(".palette-input").fill(text)
        self.page.locator(".palette-input").press("Enter")
        expect(self.page.locator(".palette")).to_have_count(0)

    def drag(self, start: Point, end: Point) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=10)
        self.page.mouse.up()

    def wire(self, source: str, target: str) -> None:
        self.drag(self.socket(source, "out"), self.socket(target, "in"))

    def select(self, node: str) -> None:
        selected = f"editor.selection.join() === {json.dumps(node)}"
        self._repeat(
            lambda: self.page.mouse.click(*self.node(node)), lambda: bool(self.ask(selected))
        )

    def open_box(self, node: str) -> None:
        """Double click the title of a box."""
        title = self.node(node)
        inside = f"editor.path === {json.dumps(node)}"
        self._repeat(lambda: self.page.mouse.dblclick(*title), lambda: bool(self.ask(inside)))

    def set_widget(self, node: str, name: str, value: str) -> None:
        self.select(node)
        field = self.page.locator("#inspector").get_by_label(name, exact=True)
        if field.evaluate("(field) => field.tagName") == "SELECT":
            field.select_option(label=value)
        else:
            field.fill(value)
            field.press("Tab")
        self.deselect()

    def deselect(self) -> None:
        self.page.locator("#board").focus()
        self.page.keyboard.press("Escape")

    def press(self, keys: str) -> None:
        self.page.locator("#board").focus()
        self.page.keyboard.press(keys)

    def hold(self, key: str) -> None:
        self._held.add(key)
        self.page.keyboard.down(key)

    def release(self, key: str) -> None:
        self._held.remove(key)
        self.page.keyboard.up(key)

    def save_as(self, name: str) -> None:
        self.press("Control+Shift+s")
        self.page.get_by_label("File name").fill(name)
        self.page.get_by_label("File name").press("Enter")
        expect(self.message).to_have_text(f"Saved as {name}.json.")

    def drop(self, name: str, content: bytes, at: Point) -> None:
        """Drop a file on the page."""
        self.drop_all({name: content}, at)

    def drop_all(self, files: dict[str, bytes], at: Point) -> None:
        """Drop several files on the page at once."""
        self.page.evaluate(
            """([files, x, y]) => {
                const data = new DataTransfer();
                for (const [name, bytes] of files) {
                    data.items.add(new File([new Uint8Array(bytes)], name));
                }
                const place = { clientX: x, clientY: y, dataTransfer: data };
                Object.assign(place, { bubbles: true, cancelable: true });
                document.elementFromPoint(x, y).dispatchEvent(new DragEvent("drop", place));
            }""",
            [[[name, list(content)] for name, content in files.items()], *at],
        )

    def open_workflow(self, workflow: dict[str, Any], name: str = "dropped.json") -> None:
        """Drop a workflow on the page."""
        self.drop(name, json.dumps(workflow).encode(), self.at(20, 20))
        self.until(f"Object.keys(editor.workflow.nodes).length === {len(workflow['nodes'])}")


@contextmanager
def new_tab(browser: Browser, **settings: Any) -> Iterator[EditorPage]:
    """A tab of a browser that remembers nothing of what others do."""
    context = browser.new_context(
        **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **settings}
    )
    try:
        yield EditorPage(context.new_page())
    finally:
        context.close()


@contextmanager
def editor(browser: Browser, address: str, **settings: Any) -> Iterator[EditorPage]:
    """The editor in a new tab, for a test that needs one of its own or another server."""
    with new_tab(browser, **settings) as tab:
        yield tab.open(address)
