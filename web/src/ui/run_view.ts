/** The dialog of an earlier run: what became of it, its clip and pictures, its files. */

import { api, type RunFile } from "../api";
import { durationText, type RunFacts, timeText } from "../live/run_facts";
import { isObject } from "../model/json";
import { h, icon } from "./dom";
import { openDialog } from "./overlay";
import { episodeTable } from "./results";

const MOST_EPISODES = 200;
const PICTURES = /\.(png|jpe?g|gif|webp)$/i;
const CLIPS = /\.mp4$/i;
const MOST_SHOWN = 4;

export async function openRun(run: RunFacts, openWorkflow: (run: RunFacts) => void): Promise<void> {
  const nothing = { folder: "", files: [] as readonly RunFile[] };
  const { folder, files } = await api.runFiles(run.id).catch(() => nothing);
  const address = (file: RunFile) => api.fileOfRun(folder, file.path);
  const clips = files.filter(({ path }) => CLIPS.test(path)).slice(0, MOST_SHOWN);
  const pictures = files.filter(({ path }) => PICTURES.test(path)).slice(0, MOST_SHOWN);
  const episodes = Array.isArray(run.result.episodes) ? run.result.episodes.filter(isObject) : [];
  const answer = await openDialog(
    run.title,
    [
      run.reason ? h("p", { class: "notice bad" }, icon("warn"), run.reason) : "",
      facts(run),
      h(
        "div",
        { class: "run-media" },
        ...clips.map((file) =>
          h("video", { controls: true, src: address(file), "aria-label": file.path }),
        ),
        ...pictures.map((file) => h("img", { src: address(file), alt: file.path })),
      ),
      episodes.length ? episodeTable(episodes.slice(0, MOST_EPISODES)) : "",
      h("h3", {}, "Files"),
      files.length
        ? h("ul", { class: "run-files" }, ...files.map((file) => fileLink(file, address(file))))
        : h("p", { class: "muted" }, "It left no files."),
    ],
    [
      { name: "Close", value: "", kind: "quiet" },
      { name: "Open its workflow", value: "open", kind: "primary" },
    ],
    "wide",
  );
  if (answer === "open") openWorkflow(run);
}

function facts(run: RunFacts): HTMLElement {
  const { ticks, game, seed, clock, misses } = run.result;
  const rows: readonly (readonly [string, string | null])[] = [
    ["State", run.state],
    ["Began", run.started === null ? null : timeText(run.started)],
    ["Played", run.seconds === null ? null : durationText(run.seconds)],
    ["Ticks", typeof ticks === "number" ? ticks.toLocaleString("en") : null],
    ["Score", run.score === null ? null : String(run.score)],
    ["Game", typeof game === "string" ? game : null],
    ["Seed", typeof seed === "number" ? String(seed) : null],
    ["Clock", typeof clock === "string" ? clock : null],
    [
      "Missed deadlines",
      clock === "realtime" && typeof misses === "number" ? String(misses) : null,
    ],
  ];
  const known = rows.filter(([, value]) => value !== null);
  return h(
    "dl",
    { class: "facts" },
    ...known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

function fileLink({ path, size }: RunFile, address: string): HTMLElement {
  return h(
    "li",
    {},
    h("a", { href: address, target: "_blank", rel: "noopener" }, path),
    h("small", {}, `${size.toLocaleString("en")} bytes`),
  );
}
