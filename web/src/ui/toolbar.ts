/** The toolbar: the open file, the buttons that control the run, and its state. */

import { keyText } from "../editor/commands";
import type { Editor } from "../editor/editor";
import type { Files } from "../editor/files";
import type { Session } from "../editor/session";
import { isActive, isUnfinished, type Run, stepText } from "../live/run";
import type { Clock } from "../model/workflow";
import { button, h, icon, iconButton } from "./dom";

export interface ToolbarCallbacks {
  help(): void;
  theme(): void;
  results(): void;
}

export function toolbar(
  element: HTMLElement,
  editor: Editor,
  session: Session,
  files: Files,
  callbacks: ToolbarCallbacks,
): void {
  const title = h("b", { class: "file-title" });
  const state = h("span", { class: "file-state" });
  const undo = iconButton("undo", `Undo (${keyText("Mod+z")})`, () => editor.document.undo());
  const redo = iconButton("redo", `Redo (${keyText("Mod+Shift+z")})`, () => editor.document.redo());
  const save = iconButton("save", `Save (${keyText("Mod+s")})`, () => void files.save());
  const start = h(
    "button",
    {
      type: "button",
      class: "button primary run",
      title: `Run (${keyText("Mod+Enter")})`,
      onclick: () => void session.start(),
    },
    icon("play"),
    h("span", {}, "Run"),
  );
  const record = h(
    "button",
    {
      type: "button",
      class: "button record",
      onclick: () => void session.toggleRecording(),
    },
    icon("record"),
    h("span", {}, "Record"),
  );
  const pause = h("button", {
    type: "button",
    class: "button",
    onclick: () => void session.control(session.run?.state === "paused" ? "resume" : "pause"),
  });
  const stop = h("button", {
    type: "button",
    class: "button stop",
    onclick: () => void session.control("stop"),
  });
  const play = h(
    "button",
    {
      type: "button",
      class: "button play",
      title: "Keys and gamepad go to the game, until Escape (G)",
      onclick: () => session.play(!session.isPlaying),
    },
    icon("pad"),
    h("span", {}, "Play"),
  );
  const speed = h(
    "select",
    {
      class: "field speed",
      "aria-label": "Speed",
      title: "Slow motion, against the console's own frame rate",
      onchange: () => void session.setSpeed(Number(speed.value)),
    },
    ...SPEEDS.map(([value, name]) => h("option", { value }, name)),
  );
  const rewind = button("Rewind", () => session.rewindShown(), "", "back");
  rewind.title = "Open the tape of this run, to see any of its ticks";
  const clip = h(
    "button",
    {
      type: "button",
      class: "button",
      title: "Keep the last 20 seconds that were shown of the game as a clip (K)",
      onclick: () => void session.keepClip(),
    },
    icon("clip"),
    h("span", {}, "Clip"),
  );
  const clockButton = (value: Clock, name: string) => {
    const choose = () => {
      editor.clock = value;
    };
    return h("button", { type: "button", data: { clock: value }, onclick: choose }, name);
  };
  const realtime = clockButton("realtime", "Real time");
  const fast = clockButton("fast", "Fast");
  fast.title = "As fast as it goes";
  const clock = h(
    "div",
    { class: "segments", role: "group", "aria-label": "Clock" },
    realtime,
    fast,
  );
  const status = h("button", {
    type: "button",
    class: "run-status",
    title: "What this run did",
    "aria-live": "off",
    onclick: () => callbacks.results(),
  });
  element.append(
    h(
      "div",
      { class: "bar-left" },
      logo(),
      h("div", { class: "file" }, title, state),
      h("div", { class: "tools" }, save, undo, redo),
    ),
    h(
      "div",
      { class: "bar-middle" },
      clock,
      start,
      record,
      rewind,
      pause,
      stop,
      speed,
      clip,
      play,
      status,
    ),
    h(
      "div",
      { class: "bar-right" },
      iconButton("moon", "Dark or light (Shift T)", () => callbacks.theme(), {
        class: "theme-button",
      }),
      iconButton("help", "Keys and help (?)", () => callbacks.help()),
    ),
  );
  const showFile = () => {
    const { document } = editor;
    title.textContent = document.workflow.title || (document.file ?? "Untitled workflow");
    if (document.file) state.textContent = `${document.file}${document.isSaved ? "" : ", edited"}`;
    else
      state.textContent = document.isSaved ? "not saved as a file" : "draft, kept in this browser";
    globalThis.document.title = `${document.isSaved ? "" : "• "}${title.textContent} – Minibrains`;
    undo.disabled = !document.canUndo;
    redo.disabled = !document.canRedo;
  };
  const showClock = () => {
    realtime.setAttribute("aria-pressed", String(editor.clock === "realtime"));
    fast.setAttribute("aria-pressed", String(editor.clock === "fast"));
    realtime.disabled = !editor.hasConsole;
    realtime.title = editor.hasConsole
      ? "At the console's own frame rate; the workflow file keeps the choice"
      : "Only with a console, which says how long a frame is";
  };
  const showRun = () => {
    const { run } = session;
    const hasTape = run?.recorded ?? false;
    const live = isUnfinished(run);
    start.hidden = live;
    pause.hidden = !isActive(run);
    stop.hidden = !live;
    record.hidden = live && run.replayOf !== null;
    record.disabled = !session.connected || !session.canToggleRecording;
    record.setAttribute("aria-pressed", String(live && run.recording));
    rewind.hidden = live || !hasTape;
    record.title = recordTitle(run);
    speed.hidden = !session.canSlowDown;
    speed.value = String(run?.speed ?? 1);
    clip.hidden = !session.canKeepClip;
    play.hidden = !live || run.replayOf !== null || session.pads.length === 0;
    play.setAttribute("aria-pressed", String(session.isPlaying));
    const isStopping = run?.state === "stopping";
    stop.title = isStopping
      ? "Not stopping? End its worker, whatever it is doing"
      : `Stop (${keyText("Mod+.")})`;
    stop.replaceChildren(icon("stop"), h("span", {}, isStopping ? "End it" : "Stop"));
    pause.replaceChildren(
      icon(run?.state === "paused" ? "play" : "pause"),
      h("span", {}, run?.state === "paused" ? "Resume" : "Pause"),
    );
    start.disabled = !session.connected;
    clock.hidden = live;
    status.replaceChildren(...statusWords(run, session.connected));
    status.dataset.state = session.connected ? (run?.state ?? "none") : "lost";
    status.disabled = run === null;
  };
  editor.on("document", () => {
    showFile();
    showClock();
    showRun();
  });
  session.on((what) => what === "run" && showRun());
  showFile();
  showClock();
  showRun();
}

const SPEEDS = [
  [1, "Full speed"],
  [0.5, "1/2 speed"],
  [0.25, "1/4 speed"],
  [0.1, "1/10 speed"],
] as const;

const WORDS = {
  queued: "Waiting",
  starting: "Starting",
  running: "Running",
  paused: "Paused",
  stopping: "Stopping",
  done: "Done",
  failed: "Failed",
  stopped: "Stopped",
};

function statusWords(run: Run | null, connected: boolean): HTMLElement[] {
  if (!connected)
    return [h("i", { class: "state failed" }), h("span", {}, "Disconnected; reconnecting")];
  if (!run) return [];
  const parts = [h("i", { class: `state ${run.state}` }), h("span", {}, WORDS[run.state])];
  if (run.at) parts.push(h("span", { class: "fact" }, h("b", {}, stepText(run.at))));
  if (run.state === "paused" && run.breakpoints.length)
    parts.push(h("span", { class: "fact" }, h("b", {}, run.breakpoints.join(", "))));
  const fact = (value: string, unit: string) =>
    parts.push(h("span", { class: "fact" }, h("b", {}, value), unit));
  if (run.tick !== null) fact(run.tick.toLocaleString("en"), run.tick === 1 ? "tick" : "ticks");
  if (run.rate !== null && isUnfinished(run)) fact(String(Math.round(run.rate)), "/s");
  if (run.score !== null) fact(String(Math.round(run.score * 100) / 100), "score");
  if (run.episodes !== null && run.episodes > 1 && run.episode !== null)
    fact(`${run.episode + 1}/${run.episodes}`, "games");
  return parts;
}

function logo(): SVGSVGElement {
  const mark = icon("grid");
  mark.setAttribute("viewBox", "0 0 24 24");
  mark.classList.add("logo");
  mark.replaceChildren();
  const draw = (tag: "circle" | "path", attributes: Record<string, string>) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
    mark.append(part);
  };
  draw("path", { d: "M7 7c6 0 4 10 10 10M7 17h2" });
  for (const [cx, cy] of [
    ["5.5", "7"],
    ["5.5", "17"],
    ["18.5", "17"],
  ] as const)
    draw("circle", { cx, cy, r: "2.5" });
  return mark;
}

function recordTitle(run: Run | null): string {
  if (!isUnfinished(run))
    return "Run, and keep a tape and a clip of it (Shift R); it needs a console";
  if (run.recording) return "Being recorded; end the tape, while the game goes on (Shift R)";
  return "Start recording from a few seconds ago (Shift R)";
}
