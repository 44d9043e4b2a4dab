"""The benchmark `bench editor`: the cost of an open page for a run,
and the speed of the editor in Chromium.
"""

from __future__ import annotations

import json
import random
import time
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from minibrains.errors import RunError
from minibrains.graph.catalog import find_workflow
from server.commands.bench.tab import Server, Tab, chromium, serving, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PREVIEWS: Final = 4
"""Number of preview nodes, in addition to the console's own picture."""
NODES: Final = 1000
IN_VIEW: Final = 50
"""Least number of nodes in view while the graph is panned."""
WIRED: Final = 100
"""Number of nodes on whose wires values are shown."""
_TURNS: Final = 5
_PAINTS: Final = 200
_COLUMNS: Final = 40
_TURN_S: Final = 60.0
_OPENS: Final = 5
_CLICKS: Final = 15
_PAN_S: Final = 5.0
TIMELINE: Final = 600
"""Number of ticks of the recorded run that is rewound."""
_SCRUBS: Final = 60
_FORKS: Final = 15
_PASTS: Final = 10
_REST_MS: Final = 200
"""Milliseconds between two measurements on the timeline."""
_LOADS: Final = Path(__file__).with_name("loads.py")


def run(seconds: float) -> dict[str, Any]:
    """Play Duel in realtime for `seconds` with the page open and as long without it,
    in turns of at most a minute.

    `{"cases": [{"what", "measured", "aim"}], "turns": [{"page", "ticks", "missed", "unscheduled",
    "fps"}]}`. `missed`: deadlines that the run itself missed; `fps`: frames a second of each
    picture on the page, None without a page. Raises MinibrainsError if Chromium or Playwright is
    missing, RunError if the editor or a run fails.
    """
    with (
        TemporaryDirectory() as folder,
        chromium() as browser,
        serving(Path(folder), _LOADS) as server,
    ):
        server.save("duel", _duel())
        server.save("sf2", json.loads(find_workflow("sf2").read_text()))
        server.save("thousand", _thousand())
        server.save("hundred", _hundred())
        server.save("striker", _striker())
        server.summary(server.start(_duel(), clock="fast", episodes=1, ticks=60))  # a warm worker
        turns = _take_turns(browser, server, seconds)
        first_paints = [_first_paint(browser, server) for _ in range(_OPENS)]
        with tab(browser, server.address) as page:
            imported = _imports(page)
        with tab(browser, server.address) as page:
            opened, in_view, pan_fps = _large_graph(page)
        with tab(browser, server.address) as page:
            clicks = _clicks(page)
        with tab(browser, server.address) as page:
            painting, wired = _paint_values(page)
        with tab(browser, server.address) as page:
            scrubs, forks = _timeline(page, server)
        with tab(browser, server.address) as page:
            pasts = _pasts(page)
        loads = _loads(server)
    with_page, without = _missed_percent(turns, True), _missed_percent(turns, False)
    rates: list[float] = []
    for turn in turns:
        if turn["fps"]:
            rates.extend(turn["fps"].values())
    cases = [
        ("ticks missed with the page, %", round(with_page, 4), ""),
        ("ticks missed without, %", round(without, 4), ""),
        ("more with the page, %", round(with_page - without, 4), "<= 0.1"),
        ("pictures painted a second, median", round(median(rates), 2), ">= 50"),
        ("pictures painted a second, least", round(min(rates), 2), ""),
        ("from the address to the first paint, s, median", round(median(first_paints), 3), "<= 1"),
        ("from the address to the first paint, s, longest", round(max(first_paints), 3), ""),
        ("opening an exported sf2, s, first", round(imported[0], 3), "<= 2"),
        ("opening an exported sf2, s, median", round(median(imported), 3), ""),
        (f"opening {NODES} nodes, s", round(median(opened), 3), "<= 2"),
        (f"panning, {in_view} nodes in view, frames a second", round(pan_fps, 1), ">= 30"),
        (f"values on {wired} wires of {WIRED} nodes, ms a frame", round(painting, 3), "<= 1"),
        ("from Run to the first tick, ms, median", round(median(clicks), 1), "<= 300"),
        ("from Run to the first tick, ms, longest", round(max(clicks), 1), ""),
        ("from a drag of the timeline to the picture, ms, median", round(median(scrubs), 1), ""),
        ("from a drag of the timeline to the picture, ms, longest", round(max(scrubs), 1), "<= 50"),
        ("from a paused run to one of its last ticks, ms, median", round(median(pasts), 1), ""),
        ("from a paused run to one of its last ticks, ms, longest", round(max(pasts), 1), ""),
        ("from Run from here to the next tick, ms, median", round(median(forks), 1), "<= 300"),
        ("from Run from here to the next tick, ms, longest", round(max(forks), 1), ""),
        ("models made by a first run", loads[0], ""),
        ("models made by a second run", loads[1], "0"),
    ]
    rows = [{"what": what, "measured": measured, "aim": aim} for what, measured, aim in cases]
    return {"cases": rows, "turns": turns}


def _duel() -> dict[str, Any]:
    """Return a workflow of Duel's expert with previews of its input,
    which fights until it is stopped.
    """
    workflow: dict[str, Any] = json.loads(find_workflow("duel_expert").read_text())
    workflow["run"] = {"episodes": 100_000, "ticks": 40_000}
    for number in range(PREVIEWS):
        workflow["nodes"][f"preview_{number}"] = {
            "type": "Preview@2",
            "in": {"value": "console.frame"},
        }
        workflow["layout"][f"preview_{number}"] = [848 + number % 2 * 320, 80 + number // 2 * 320]
    return workflow


def _thousand() -> dict[str, Any]:
    """Return a workflow of a console and rows of nodes that pass its picture on."""
    nodes: dict[str, Any] = {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Duel-Genesis"}}
    }
    layout = {"console": [-400, 0]}
    for number in range(NODES - 1):
        row, column = divmod(number, _COLUMNS)
        name = f"n{number}"
        if column == 0:
            nodes[name] = {"type": "Grayscale@1", "in": {"frame": "console.frame"}}
        else:
            nodes[name] = {
                "type": "Resize@1",
                "set": {"width": 84, "height": 84},
                "in": {"frame": f"n{number - 1}.frame"},
            }
        layout[name] = [column * 272, row * 168]
    return {"minibrains": 1, "title": "A thousand nodes", "nodes": nodes, "layout": layout}


def _hundred() -> dict[str, Any]:
    """Return a workflow whose nodes, all in view, deliver numbers, flags and pictures."""
    nodes: dict[str, Any] = {
        "console": {"type": "RetroEmulator@3", "set": {"game": "Duel-Genesis"}}
    }
    layout: dict[str, Any] = {"console": [-360, 0]}
    for number in range(WIRED - 1):
        row, column = divmod(number, 10)
        before = f"n{number - 1}"
        if column == 0:
            node = {"type": "Grayscale@1", "in": {"frame": "console.frame"}}
        elif column == 1:
            node = {"type": "Resize@1", "in": {"frame": f"{before}.frame"}}
        elif column == 2:
            node = {"type": "Score@1", "in": {"rewards": ["console.reward"]}}
        elif column == 3:
            node = {"type": "Compare@1", "in": {"number": f"{before}.number"}}
        else:
            node = {"type": "Not@1", "in": {"flag": f"{before}.flag"}}
        nodes[f"n{number}"] = node
        layout[f"n{number}"] = [column * 208, row * 168, 144]
    run = {"ticks": 100_000}
    return {
        "minibrains": 1, "title": "A hundred nodes", "run": run, "nodes": nodes, "layout": layout
    }  # fmt: skip


def _striker() -> dict[str, Any]:
    """Return a workflow of Airstriker, in which every picture is another one."""
    workflow: dict[str, Any] = json.loads(find_workflow("airstriker_pixels").read_text())
    workflow["run"] = {"episodes": 1, "ticks": TIMELINE}
    return workflow


# -- the cost of a page for a run ------------------------------------------------------------------


def _take_turns(browser: Browser, server: Server, seconds: float) -> list[dict[str, Any]]:
    count = ceil(seconds / _TURN_S)
    turns = []
    for number in range(count):
        # each goes first equally often, so that neither always finds the machine warmer
        page_first = number % 2 == 0
        for page in (page_first, not page_first):
            turns.append(_turn(browser, server, seconds / count, page))
    return turns


def _turn(browser: Browser, server: Server, seconds: float, page: bool) -> dict[str, Any]:
    if page:
        with tab(browser, server.address) as shown:
            run, rates = _watched(shown, seconds)
            server.stop(run)
            summary = server.summary(run)
    else:
        run, rates = server.start(_duel(), clock="realtime"), None
        time.sleep(seconds)
        server.stop(run)
        summary = server.summary(run)
    missed = summary["deadlines"]["missed"]
    own = missed["engine"] + sum(missed["nodes"].values())
    return {
        "page": page,
        "ticks": summary["ticks"],
        "missed": own,
        "unscheduled": missed["unscheduled"],
        "fps": rates,
    }


def _watched(page: Tab, seconds: float) -> tuple[str, dict[str, float]]:
    """Start a run with the button and watch it;
    return its id and the frames a second that each preview painted.
    """
    page.open("duel")
    page.show_files(False)
    page.ask("editor.board.fit()")
    page.page.locator("button.run").click()
    visible = "[...document.querySelectorAll('.screen[data-frames]:not([hidden])')]"
    page.until(f"{visible}.length > {PREVIEWS}")  # and that of the console
    count = (
        f"[performance.now(), Object.fromEntries({visible}.map((each) => [each.dataset.node, "
        "Number(each.dataset.frames)]))]"
    )
    begun, before = page.ask(count)
    page.page.wait_for_timeout(seconds * 1e3)
    ended, after = page.ask(count)
    rates = {}
    for node, painted in before.items():
        rate = (after[node] - painted) / (ended - begun) * 1e3
        rates[node] = round(rate, 2)
    return str(page.ask("session.run.id")), rates


def _missed_percent(turns: list[dict[str, Any]], page: bool) -> float:
    """Return the percentage of missed deadlines among the ticks on which
    the process was scheduled.
    """
    ticks = missed = 0
    for turn in turns:
        if turn["page"] is page:
            ticks += turn["ticks"] - turn["unscheduled"]
            missed += turn["missed"]
    return 100 * missed / ticks


# -- the editor ------------------------------------------------------------------------------------


def _first_paint(browser: Browser, server: Server) -> float:
    """Open the editor as a browser does that has never seen it; return the seconds until something
    is painted.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.goto(server.address)
        milliseconds = page.evaluate(
            """() => new Promise((found) => {
                const observer = new PerformanceObserver((entries) => {
                    const [paint] = entries.getEntriesByName("first-contentful-paint");
                    if (paint) found(paint.startTime);
                });
                observer.observe({ type: "paint", buffered: true });
            })"""
        )
        return float(milliseconds) / 1e3
    finally:
        context.close()


def _imports(page: Tab) -> list[float]:
    """Drop an exported sf2 on the page; return the seconds of each time until the graph is drawn.
    At the first time its brains are not in the server's folder yet.
    """
    page.open("sf2")
    page.measure(
        """const headers = { "Content-Type": "application/json" };
        const body = JSON.stringify({ workflow: editor.workflow, name: "sf2.json" });
        const answer = await fetch("api/export", { method: "POST", headers, body });
        globalThis.exported = await answer.blob();"""
    )
    taken = []
    for _ in range(_OPENS):
        page.open("duel")
        milliseconds = page.measure(
            """const dataTransfer = new DataTransfer(), begun = performance.now();
            dataTransfer.items.add(new File([exported], "shared.zip"));
            const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
            editor.board.element.dispatchEvent(drop);
            while (editor.document.file === "duel.json") await frame();
            await frame();  // in which it is drawn
            await frame();  // which begins when that has been shown
            return performance.now() - begun;"""
        )
        taken.append(float(milliseconds) / 1e3)
    return taken


def _large_graph(page: Tab) -> tuple[list[float], int, float]:
    """Return the seconds of each opening, the number of nodes in view,
    and the frames a second while panning.
    """
    opened = []
    for _ in range(_OPENS):
        page.open("duel")
        opened.append(page.open("thousand"))
        if (there := page.ask("editor.board.boxes.size")) != NODES:
            raise RunError(f"the editor drew {there} nodes of a workflow, expected {NODES}")
    page.show_files(False)
    in_view = page.measure(
        """editor.board.fit(["n500"]);
        const inView = () => {
            const { area: [x, y, width, height] } = editor.board.view;
            const meets = ([left, top, w, h]) =>
                left < x + width && x < left + w && top < y + height && y < top + h;
            return [...editor.board.boxes.values()].filter(meets).length;
        };
        while (inView() < values[0]) editor.board.zoom(0.99);
        await frame();
        return inView();""",
        IN_VIEW,
    )
    return opened, in_view, _pan(page)


def _pan(page: Tab) -> float:
    """Drag the canvas in circles; return the frames a second in which it had moved."""
    empty = page.measure(
        """const { left, top, width, height } = editor.board.element.getBoundingClientRect();
        for (let x = left + width / 2; x < left + width; x += 8) {
            for (let y = top + height / 2; y < top + height; y += 8) {
                const around = [[x, y], [x - 8, y], [x + 8, y], [x, y - 8], [x, y + 8]];
                if (!around.some((at) => editor.board.nodeAt(at))) return [x, y];
            }
        }
        return null;"""
    )
    if empty is None:
        raise RunError("bench editor: there is no empty place on the canvas to drag it by")
    x, y = empty
    mouse = page.page.mouse
    mouse.move(x, y)
    mouse.down()
    # the page itself moves the mouse, once a frame: Playwright waits for an answer to every move,
    # which costs frames
    rate = page.measure(
        """const [x, y, milliseconds] = values, { element } = editor.board;
        const begun = performance.now();
        let frames = 0, last = String(editor.board.view.offset);
        for (let step = 1; performance.now() - begun < milliseconds; step++) {
            const angle = step * Math.PI / 60;
            const down = y + 150 * (Math.cos(angle) - 1);
            const at = { clientX: x + 150 * Math.sin(angle), clientY: down };
            const held = { buttons: 1, isPrimary: true, pointerId: 1, bubbles: true };
            element.dispatchEvent(new PointerEvent("pointermove", { ...at, ...held }));
            await frame();
            const now = String(editor.board.view.offset);
            if (now !== last) frames++;
            last = now;
        }
        return frames / (performance.now() - begun) * 1e3;""",
        x,
        y,
        _PAN_S * 1e3,
    )
    mouse.up()
    return float(rate)


def _clicks(page: Tab) -> list[float]:
    """Return the milliseconds from each click on Run until the page knows of the first tick."""
    page.open("duel")
    taken = []
    for _ in range(_CLICKS):
        taken.append(
            page.measure(
                """const before = session.run?.id, begun = performance.now();
                document.querySelector("button.run").click();
                const isNew = () => session.run && session.run.id !== before;
                const ticks = () => isNew() && session.run.tick > 0;
                while (!ticks()) await new Promise((go) => setTimeout(go));
                return performance.now() - begun;"""
            )
        )
        page.page.locator("button.stop").click()
        page.until("session.run.state === 'stopped'")
    return taken


def _timeline(page: Tab, server: Server) -> tuple[list[float], list[float]]:
    """Return the milliseconds from each move of the timeline until the page shows the picture of
    that tick, and from each fork until the page knows of its first tick of its own.
    """
    played = server.start(_striker(), record=True, clock="fast")
    server.summary(played)
    page.open("striker")
    page.show_files(False)
    page.measure("await session.rewind(values[0]);", played)
    page.until("document.querySelector('#timeline output').textContent.startsWith('Tick ')")
    page.until("document.querySelector('.screen[data-node=console].lit')")
    dice = random.Random(1)
    scrubs = [_scrub(page, dice.randrange(TIMELINE)) for _ in range(_SCRUBS)]
    _fork(page, server, TIMELINE // 2)  # the second worker loads the brains
    forks = [_fork(page, server, dice.randrange(TIMELINE - 100)) for _ in range(_FORKS)]
    return scrubs, forks


def _pasts(page: Tab) -> list[float]:
    """Return the milliseconds from a move of the timeline of a run that is paused, whose last ticks
    must be opened for that, until the page knows of the tick.
    """
    page.open("duel")
    page.show_files(False)
    page.page.locator("button.run").click()
    taken = []
    for _ in range(_PASTS):
        page.until(f"session.run?.replayOf === null && session.run.ticks > {TIMELINE}")
        page.ask("void session.control('pause')")
        page.until("session.run.state === 'paused'")
        page.page.wait_for_timeout(_REST_MS)
        taken.append(
            page.measure(
                """const begun = performance.now(), tick = session.run.ticks - 300;
                void session.seek(tick);
                const isShown = () => session.run.replayOf !== null && session.run.ticks === tick;
                while (!isShown()) await new Promise((go) => setTimeout(go));
                return performance.now() - begun;"""
            )
        )
        page.ask("void session.goLive()")
        page.until("session.run?.replayOf === null && session.run.state === 'running'")
    page.page.locator("button.stop").click()
    return taken


def _scrub(page: Tab, tick: int) -> float:
    """Move the slider of the timeline; return the milliseconds until the picture has changed."""
    taken = page.measure(
        """const [tick] = values, slider = document.querySelector("#timeline input");
        const screen = document.querySelector(".screen[data-node=console]");
        const canvas = new OffscreenCanvas(screen.width, screen.height);
        const context = canvas.getContext("2d", { willReadFrequently: true });
        const shown = () => {
            context.drawImage(screen, 0, 0);
            let hash = 0;
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            for (const pixel of new Uint32Array(data.buffer)) hash = (31 * hash + pixel) | 0;
            return hash;
        };
        const before = shown(), begun = performance.now();
        slider.value = tick;
        slider.dispatchEvent(new Event("input"));
        while (session.run.ticks !== tick) await new Promise((go) => setTimeout(go));
        while (shown() === before) await frame();
        return performance.now() - begun;""",
        tick,
    )
    page.page.wait_for_timeout(_REST_MS)
    return float(taken)


def _fork(page: Tab, server: Server, tick: int) -> float:
    """Fork the run that is shown; return the milliseconds until the page knows of a tick."""
    _scrub(page, tick)
    taken = page.measure(
        """const begun = performance.now(), { ticks } = session.run;
        void session.fork();
        const other = () => session.beside?.run;
        const isUnderway = () => other() && (other().ticks > ticks || other().replayOf !== null);
        while (!isUnderway()) await new Promise((go) => setTimeout(go));
        return performance.now() - begun;"""
    )
    page.until("session.beside.timeline")
    page.ask("session.closeBeside()")
    end = time.monotonic() + _REST_MS
    while len(server.ask("queue")["queue_running"]) > 1 and time.monotonic() < end:
        page.page.wait_for_timeout(_REST_MS)
    return float(taken)


def _paint_values(page: Tab) -> tuple[float, int]:
    """Return the milliseconds that it takes to paint the values on wires once, while the graph
    runs, and the number of wires that show one.

    They are CPU time of the page's main thread, so what else the machine does is not counted. A
    pixel is read after each time, so that the values are painted, and not only recorded.
    """
    page.open("hundred")
    page.show_files(False)
    page.ask("editor.board.fit()")
    page.page.locator("button.run").click()
    page.until("session.run?.tick > 60")
    wired = page.measure(
        """while (editor.board.view.scale < 0.43) editor.board.zoom(1.02);
        await frame();
        const shown = (output) => editor.board.wireValue(output) !== null;
        while (![...session.run.values.keys()].some(shown)) await frame();
        return [...session.run.values.keys()].filter(shown).length;"""
    )
    metrics = page.page.context.new_cdp_session(page.page)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        found = metrics.send("Performance.getMetrics")["metrics"]
        seconds = {each["name"]: float(each["value"]) for each in found}
        return 1e3 * seconds["TaskDuration"]

    paint_ms: list[float] = []
    for _ in range(_TURNS):
        before = busy()
        page.measure(
            """const [paints] = values, { board } = editor, { scale, offset } = board.view;
            const canvas = new OffscreenCanvas(board.element.width, board.element.height);
            const context = canvas.getContext("2d", { willReadFrequently: true });
            context.scale(scale, scale);
            context.translate(...offset);
            for (let i = 0; i < paints; i++) {
                board.drawWireValues(context);
                context.getImageData(0, 0, 1, 1);
            }""",
            _PAINTS,
        )
        paint_ms.append((busy() - before) / _PAINTS)
    page.page.locator("button.stop").click()
    return median(paint_ms), int(wired)


def _loads(server: Server) -> tuple[int, int]:
    """Return the number of models made by a first run, and by a second one in the same worker."""
    workflow: dict[str, Any] = json.loads(find_workflow("airstriker_pixels").read_text())
    workflow["nodes"]["loads"] = {"type": "loads.Loads@1", "in": {"value": "console.reward"}}
    made = [0]
    for _ in range(2):
        summary = server.summary(server.start(workflow, clock="fast", episodes=1, ticks=60))
        made.append(summary["episodes"][0]["loads"])
    return made[1] - made[0], made[2] - made[1]
