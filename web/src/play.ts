/** The page of `python -m server run --person`: the game, and the keys that play it. */

import "@fontsource-variable/inter";
import "./style/tokens.css";
import "./style/controls.css";
import "./style/page.css";
import "./style/overlay.css";
import "./style/play.css";

import { paint, readFrame } from "./live/frames";
import { PlayerInput } from "./live/player_input";
import { button, h, icon } from "./ui/dom";
import { showMessage } from "./ui/overlay";
import { followTheme } from "./ui/theme";

/** The message about the run, which the server sends whenever something of it has changed. */
interface PlayedRun {
  readonly title: string;
  /** The button that each key presses, by KeyboardEvent.code. */
  readonly keys: Readonly<Record<string, string>>;
  readonly episode: number;
  readonly episodes: number;
  readonly score: number | null;
  readonly paused: boolean;
  readonly recording: boolean;
  /** The run folder, once there is one. */
  readonly folder: string | null;
  /** The results, once the run is over. */
  readonly over: string | null;
}

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

function start(): void {
  followTheme();
  const context = element<HTMLCanvasElement>("screen").getContext("2d", { alpha: false })!;
  const socket = new WebSocket(new URL("play", location.href.replace(/^http/, "ws")));
  socket.binaryType = "arraybuffer";
  const send = (message: object) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  let run: PlayedRun | null = null;

  const input = new PlayerInput({
    held: (keys) => send({ do: "hold", keys }),
    escaped: () => play(false),
  });
  const play = (isOn: boolean) => {
    if (run === null || run.over !== null) return;
    input.setEnabled(isOn);
    send({ do: "pause", on: !isOn });
    document.body.toggleAttribute("data-playing", isOn);
  };
  const record = () => send({ do: "record" });
  const clip = () => send({ do: "clip" });

  const title = h("b", { class: "file-title" });
  const status = h("span", { class: "fact" });
  const playing = button("Pause", () => play(!input.isEnabled));
  const recording = button("Record", record, "record", "record");
  recording.title = "A tape from a few seconds ago on, or its end (Escape, then Shift R)";
  const clipping = button("Clip", clip, "", "clip");
  clipping.title = "Keep the last 20 seconds as a clip (Escape, then K)";
  const stop = button("End the run", () => send({ do: "stop" }), "stop", "stop");
  const controls = h("div", { class: "bar-middle" }, playing, recording, clipping, stop, status);
  element("bar").append(h("div", { class: "bar-left" }, title), controls);
  element("game").addEventListener("click", () => play(true));

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "g") play(true);
    else if (key === "r" && event.shiftKey) record();
    else if (key === "k") clip();
  });

  const show = (now: PlayedRun) => {
    const isFirst = run === null;
    run = now;
    if (isFirst) play(true);
    title.textContent = now.title;
    document.title = `${now.title} – Minibrains`;
    playing.replaceChildren(
      icon(now.paused ? "play" : "pause"),
      h("span", {}, now.paused ? "Play (G)" : "Pause (Escape)"),
    );
    recording.setAttribute("aria-pressed", String(now.recording));
    status.textContent = statusText(now);
    element("keys").replaceChildren(...keyList(now.keys));
    if (now.over === null) return;
    input.setEnabled(false);
    document.body.removeAttribute("data-playing");
    controls.hidden = true;
    const folder = now.folder ? `\n\n${now.folder}` : "";
    element("game").replaceChildren(h("pre", { class: "over" }, `${now.over}${folder}`));
  };

  socket.onmessage = async ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === "string") {
      const message = JSON.parse(data) as PlayedRun | { readonly said: string };
      if ("said" in message) showMessage(message.said);
      else show(message);
      return;
    }
    const frame = readFrame(data);
    if (frame) await paint(frame, context);
    send({ do: "shown" });
  };
  socket.onclose = ({ reason }) => {
    input.setEnabled(false);
    if (run?.over) return;
    const why = reason || "The run has ended, or its machine cannot be reached any more.";
    showMessage(why, "error");
  };
}

function statusText({ episode, episodes, score, recording, paused }: PlayedRun): string {
  const parts: string[] = [];
  if (paused) parts.push("paused");
  if (recording) parts.push("recording");
  if (episodes > 1) parts.push(`game ${Math.min(episode + 1, episodes)} of ${episodes}`);
  if (score !== null) parts.push(`score ${Math.round(score * 100) / 100}`);
  return parts.join(", ");
}

/** Each button of the game with the keys that press it. */
function keyList(keys: PlayedRun["keys"]): HTMLElement[] {
  const byButton = new Map<string, string[]>();
  for (const [code, pressed] of Object.entries(keys)) {
    if (code.startsWith("Gamepad")) continue;
    byButton.set(pressed, [...(byButton.get(pressed) ?? []), keyName(code)]);
  }
  return [...byButton].map(([name, codes]) =>
    h("span", { class: "key" }, ...codes.map((code) => h("kbd", {}, code)), name),
  );
}

const ARROWS: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
};

const keyName = (code: string) => ARROWS[code] ?? code.replace(/^(Key|Digit)/, "");

start();
