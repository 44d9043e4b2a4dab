/** The client of the server's HTTP interface. Error messages are sentences for users. */

import type { NodeType } from "./model/catalog";
import type { GameInfo } from "./model/choices";
import type { Linking } from "./model/compatibility";
import type { Json, JsonObject } from "./model/json";
import {
  type Asking,
  type BrainChoice,
  type Corrections,
  type DataSetInfo,
  type DataSetOverview,
  type Moment,
  type Sample,
  type SampleFilter,
  sampleQuery,
} from "./model/samples";
import type { Axis, Sweep } from "./model/sweep";
import { type Workflow, workflowFromJson } from "./model/workflow";

export interface Fault {
  readonly code?: string;
  readonly message: string;
  readonly node?: string | null;
  readonly socket?: string | null;
  readonly expected?: string | null;
  readonly found?: string | null;
  readonly cause?: string | null;
  readonly hint?: string | null;
}

export interface CheckResult extends Linking {
  readonly faults: readonly Fault[];
  /** The workflow with its nodes migrated to current versions; null if none is older. */
  readonly workflow: Workflow | null;
}

export interface FileInfo {
  readonly path: string;
  readonly size: number;
  readonly modified: number;
  /** There is a picture beside it. */
  readonly picture: boolean;
}

export interface BrainInfo {
  readonly file: string;
  readonly kind: string;
  readonly title?: string;
  readonly size: number;
  readonly sha256?: string;
}

export interface TensorDescription {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** The header of a brain. */
export interface BrainDescription {
  readonly file: string;
  readonly size: number;
  readonly sha256: string | null;
  readonly kind: string | null;
  readonly version: number;
  readonly title: string | null;
  readonly description: string | null;
  readonly license: string | null;
  readonly author: string | null;
  readonly made_by: string | null;
  readonly metrics: Json;
  /** All other entries of the header. */
  readonly more: JsonObject;
  readonly config: JsonObject;
  readonly tensors: readonly TensorDescription[];
  /** Type of number -> bytes that its weights take in memory; empty if its kind does not say. */
  readonly memory: Readonly<Record<string, number>>;
  readonly used_by: readonly string[];
  /** Its parents; `file` is null for one that is not here. */
  readonly lineage: readonly {
    readonly sha256: string;
    readonly file: string | null;
    readonly title: string | null;
  }[];
  readonly fault: string | null;
}

/** The distribution of a tensor's numbers, of which `read` were read. */
export interface TensorHistogram {
  readonly numbers: number;
  readonly read: number;
  readonly not_finite: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly std: number | null;
  readonly counts: readonly number[];
}

export interface UploadedBrain extends BrainInfo {
  /** The original name, if another brain has it. */
  readonly renamed_from: string | null;
}

export interface ImportedWorkflow {
  /** The name of its file here. */
  readonly workflow: string;
  readonly brains: number;
  /** The file of the tape that was in it; null: none was. */
  readonly tape: string | null;
  /** What is missing on this machine, or is another version. */
  readonly remarks: readonly string[];
}

export interface RunFile {
  readonly path: string;
  readonly size: number;
}

export interface KeptClip {
  readonly folder: string;
  readonly file: string;
  readonly seconds: number;
}

/** A tick of a recorded run that people look for. */
export interface Mark {
  readonly tick: number;
  readonly kind: "episode" | "reward" | "edit" | "exception" | "decision" | "found";
  readonly node: string;
  readonly text: string;
}

/** The ticks at which a number changed, with its values from then on. */
export type Series = readonly (readonly [tick: number, value: number])[];

export interface Fork {
  readonly prompt_id: string;
  readonly tick: number;
}

export interface Timeline {
  /** Not 0 if only the last ticks of the run are known. */
  readonly first: number;
  readonly last: number;
  readonly marks: readonly Mark[];
  /** The numbers that Preview nodes are given, by input. */
  readonly series: Readonly<Record<string, Series>>;
  /** The first difference to the tape, or null. */
  readonly difference: { readonly from: number; readonly to: number } | null;
}

export type Control = "stop" | "pause" | "resume" | "step" | "step_node";

export interface RunInfo {
  readonly prompt_id: string;
  readonly state: string;
  readonly workflow?: unknown;
  readonly result?: Json;
  readonly error?: unknown;
}

/** The first tick at which two runs differ, or null, and what differs then: name of an output -> its value in both. */
export interface Difference {
  readonly tick: number | null;
  readonly values: Readonly<Record<string, readonly [Json, Json]>>;
}

/** A subgraph that is kept on the server, with those inside of it. */
export interface Part {
  /** The name of its file. */
  readonly name: string;
  /** Why it cannot be used; null if it can. */
  readonly error: string | null;
  /** The name of its subgraph in `defs`. */
  readonly part: string;
  readonly defs: NonNullable<Workflow["defs"]>;
}

/** The server refused a request, or could not be reached. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly body: Record<string, unknown>,
  ) {
    super(message);
  }
}

/** The file on the disk is not the one that was opened: it was saved by somebody else, or deleted (`sha256` is null). */
export class SaveConflict extends Error {
  constructor(
    readonly sha256: string | null,
    readonly workflow: Workflow | null,
  ) {
    super("The file was changed by somebody else since it was opened here.");
  }
}

async function request(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`api${path}`, options);
  } catch {
    throw new RequestError("The server does not answer. Is it still running?", 0, {});
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  throw new RequestError(
    errorMessage(body) ?? `The server refused this (${response.status} ${response.statusText}).`,
    response.status,
    body,
  );
}

function errorMessage(body: Record<string, unknown>): string | null {
  const error = body.error;
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null) return null;
  const { message, details } = error as Record<string, unknown>;
  if (typeof message !== "string") return null;
  return typeof details === "string" && details ? `${message}: ${details}` : message;
}

async function json<T>(path: string, options?: RequestInit): Promise<T> {
  return (await (await request(path, options)).json()) as T;
}

const post = (path: string, body: unknown) =>
  request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

const userdata = (folder: string, name: string) =>
  `/userdata/${encodeURIComponent(`${folder}/${name}`)}`;
const pictureName = (workflow: string) => workflow.replace(/\.json$/, ".png");
const brainPath = (file: string) => `/brains/${file.split("/").map(encodeURIComponent).join("/")}`;
const dataPath = (name: string) => `/data/${encodeURIComponent(name)}`;
const samplePath = (name: string, { episode, tick }: Sample) =>
  `${dataPath(name)}/samples/${encodeURIComponent(episode)}/${tick}`;
const unquoted = (tag: string | null) => tag?.replace(/^(W\/)?"|"$/g, "") ?? null;

/** Return a sentence with a full stop, unless it has its end. */
const ended = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** Return a fault as sentences: what is wrong, where, what was expected, what to do. */
export function faultText(fault: Fault): string {
  const where = fault.socket ? `${fault.socket}: ` : "";
  const expected = fault.expected ? `; expected ${fault.expected}` : "";
  const found = fault.found ? `${expected ? "," : ";"} found ${fault.found}` : "";
  const sentences = [`${where}${fault.message}${expected}${found}`];
  if (fault.cause) sentences.push(fault.cause);
  if (fault.hint) sentences.push(fault.hint);
  return sentences.map(ended).join(" ");
}

export const api = {
  nodes: () => json<Record<string, NodeType>>("/nodes"),

  /** Return the faults of a workflow, and its possible links. */
  async check(workflow: Workflow, file: string | null): Promise<CheckResult> {
    const response = await post("/check", { workflow, name: file });
    return (await response.json()) as CheckResult;
  },

  /**
   * Queue a run. `file` is the workflow's file: brains beside it are found, and the run folder is named after it. With
   * `recording` the run leaves a tape, and a clip of its first episode.
   */
  async run(
    workflow: Workflow,
    file: string | null,
    client: string,
    settings: object,
    recording: boolean,
  ): Promise<string> {
    const response = await post("/prompt", {
      prompt: workflow,
      client_id: client,
      extra_data: { settings, name: file, record: recording, film: recording },
    });
    return ((await response.json()) as { prompt_id: string }).prompt_id;
  },

  /** Open the tape of a finished run, or pause one that goes on and open its last ticks. Return the id of the run that plays them. */
  rewind: async (id: string, client: string): Promise<string> => {
    const response = await post(`/runs/${encodeURIComponent(id)}/rewind`, { client_id: client });
    return ((await response.json()) as { prompt_id: string }).prompt_id;
  },
  seek: (id: string, tick: number) => post(`/runs/${encodeURIComponent(id)}/seek`, { tick }),
  /** Return first and last tick and marks of a run that is rewound, once its tape is read. */
  timeline: (id: string) => json<Timeline>(`/runs/${encodeURIComponent(id)}/timeline`),
  /** Play a run that is rewound on from a tick, with a workflow. Return the id of that run, and the tick at which it begins. */
  fork: async (
    id: string,
    tick: number,
    workflow: Workflow,
    file: string | null,
  ): Promise<Fork> => {
    const settings = { clock: "fast" };
    const body = { tick, workflow, name: file, settings };
    return (await post(`/runs/${encodeURIComponent(id)}/fork`, body)).json();
  },
  /** Return the first tick at which two runs that are rewound differ, and the values that do then. */
  difference: (id: string, from: string) =>
    json<Difference>(`/runs/${encodeURIComponent(id)}/difference?from=${encodeURIComponent(from)}`),
  /** Return the ticks at which a condition on an output begins to hold, or else those of its largest changes. */
  find: async (id: string, output: string, condition?: string): Promise<readonly Mark[]> => {
    const response = await post(`/runs/${encodeURIComponent(id)}/find`, { output, condition });
    return ((await response.json()) as { marks: readonly Mark[] }).marks;
  },
  /** Begin or end a tape in the middle of a run. */
  record: (id: string, on: boolean) => post(`/runs/${encodeURIComponent(id)}/record`, { on }),
  control: (id: string, what: Control) => post(`/runs/${encodeURIComponent(id)}/${what}`, {}),
  edit: (id: string, workflow: Workflow) =>
    post(`/runs/${encodeURIComponent(id)}/edit`, { workflow }),
  /** Replace the breakpoints of a run. */
  breakWhen: (id: string, breakpoints: JsonObject) =>
    post(`/runs/${encodeURIComponent(id)}/breakpoints`, { breakpoints }),
  /** Play a run in slow motion. */
  setSpeed: (id: string, speed: number) => post(`/runs/${encodeURIComponent(id)}/speed`, { speed }),
  saveState: (id: string, node: string, name: string) =>
    post(`/runs/${encodeURIComponent(id)}/save_state`, { node, name }),
  /** Keep what was just shown of the game as a clip in the run folder. */
  keepClip: async (id: string): Promise<KeptClip> =>
    (await post(`/runs/${encodeURIComponent(id)}/clip`, {})).json(),
  runInfo: (id: string) => json<RunInfo>(`/runs/${encodeURIComponent(id)}`),
  queue: () => json<{ queue_running: Json[][]; queue_pending: Json[][] }>("/queue"),
  cancelQueued: (id: string) => post("/queue", { delete: [id] }),
  history: () => json<Record<string, Record<string, Json>>>("/history?max_items=40"),
  runFiles: (id: string) =>
    json<{ folder: string; files: readonly RunFile[] }>(`/runs/${encodeURIComponent(id)}/files`),
  /** Return the address of a file in a run folder. */
  fileOfRun: (folder: string, path: string) =>
    `api/view?${new URLSearchParams({ type: "output", subfolder: folder, filename: path })}`,
  deleteRun: (id: string) => post("/history", { delete: [id] }),

  templates: async () => (await json<{ name: string }[]>("/templates")).map(({ name }) => name),
  template: async (name: string) =>
    workflowFromJson(await json(`/templates/${encodeURIComponent(name)}`)),

  parts: () => json<Part[]>("/parts"),
  savePart: async (name: string, part: string, defs: Workflow["defs"]): Promise<Part> =>
    (await post(`/parts/${encodeURIComponent(name)}`, { part, defs })).json(),

  files: () => json<FileInfo[]>("/userdata?dir=workflows&recurse=true&full_info=true"),

  async open(name: string): Promise<{ workflow: Workflow; sha256: string | null }> {
    const response = await request(userdata("workflows", name));
    return {
      workflow: workflowFromJson(await response.json()),
      sha256: unquoted(response.headers.get("ETag")),
    };
  },

  /** Save a file. `before` is its SHA-256 when it was opened, null for a new one. Throws SaveConflict. */
  async save(name: string, text: string, before: string | null): Promise<string | null> {
    const guard: Record<string, string> =
      before === null ? { "If-None-Match": "*" } : { "If-Match": `"${before}"` };
    try {
      const headers = { "Content-Type": "application/json", ...guard };
      const response = await request(userdata("workflows", name), {
        method: "POST",
        headers,
        body: text,
      });
      return unquoted(response.headers.get("ETag"));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.status === 409) {
        const there = await api.open(name);
        throw new SaveConflict(there.sha256, there.workflow);
      }
      if (error.status !== 412) throw error;
      const { sha256, workflow } = error.body;
      throw new SaveConflict(
        typeof sha256 === "string" ? sha256 : null,
        workflow ? workflowFromJson(workflow) : null,
      );
    }
  },

  /** Save the picture of a saved workflow, a PNG. */
  savePicture: (name: string, picture: Blob) =>
    request(userdata("workflows", pictureName(name)), { method: "POST", body: picture }),
  pictureOf: (name: string) => `api${userdata("workflows", pictureName(name))}`,

  remove: (name: string) => request(userdata("workflows", name), { method: "DELETE" }),
  rename: (from: string, to: string) =>
    request(`${userdata("workflows", from)}/move/${encodeURIComponent(`workflows/${to}`)}`, {
      method: "POST",
    }),

  games: () => json<string[]>("/games"),
  game: (name: string) => json<GameInfo>(`/games/${encodeURIComponent(name)}`),
  /** Return the address of the picture of a save state, of the first one that a pattern selects, or of the default one (""). */
  picture: (game: string, state: string) =>
    `api/games/${encodeURIComponent(game)}/picture?state=${encodeURIComponent(state)}`,

  brains: () => json<BrainInfo[]>("/brains"),
  brain: (file: string) => json<BrainDescription>(brainPath(file)),
  histogram: (file: string, tensor: string) =>
    json<TensorHistogram>(`${brainPath(file)}/histogram?tensor=${encodeURIComponent(tensor)}`),
  uploadBrain(blob: File): Promise<UploadedBrain> {
    const body = new FormData();
    body.set("file", blob, blob.name);
    return json("/upload/brain", { method: "POST", body });
  },

  dataSets: () => json<DataSetInfo[]>("/data"),
  dataSet: (name: string) => json<DataSetOverview>(dataPath(name)),
  samples: (name: string, filter: SampleFilter, offset: number, limit: number) =>
    json<{ total: number; samples: readonly Sample[] }>(
      `${dataPath(name)}/samples?${sampleQuery(filter, offset, limit)}`,
    ),
  /** Return what else is known of a sample. */
  moment: (name: string, sample: Sample) => json<Moment>(samplePath(name, sample)),
  /** Return the address of the picture of a sample. */
  samplePicture: (name: string, sample: Sample) => `api${samplePath(name, sample)}/picture`,
  correct: (name: string, changes: Corrections) =>
    post(`${dataPath(name)}/correct`, { corrections: changes }),
  brainsFor: (name: string) => json<BrainChoice[]>(`${dataPath(name)}/brains`),
  asking: (name: string) => json<Asking | null>(`${dataPath(name)}/asking`),
  async ask(
    name: string,
    brain: string,
    question: string,
    episode: string | null,
  ): Promise<Asking> {
    const response = await post(`${dataPath(name)}/asking`, { brain, question, episode });
    return (await response.json()) as Asking;
  },
  /** The latest sweep, or null. */
  sweep: () => json<Sweep | null>("/sweep"),
  startSweep: async (asked: {
    workflow: Workflow;
    name: string | null;
    axes: readonly Axis[];
    states: string;
    episodes: number;
  }): Promise<Sweep> => (await post("/sweep", asked)).json(),
  stopSweep: () => post("/sweep/stop", {}),
  /** Return the address of a file that a sweep has left. */
  fileOfSweep: (filename: string) =>
    `api/view?${new URLSearchParams({ type: "evaluations", filename })}`,

  stopAsking: (name: string) => post(`${dataPath(name)}/asking/stop`, {}),

  /** Return a file with a workflow and its brains. */
  /** Return a workflow with its brains as one file, and with the tape of a run, if `run` is its id. */
  async exportWorkflow(workflow: object, file: string, run: string | null = null): Promise<Blob> {
    return (await post("/export", { workflow, name: file, run })).blob();
  },
  importWorkflow(shared: File): Promise<ImportedWorkflow> {
    const body = new FormData();
    body.set("file", shared, shared.name);
    return json("/import", { method: "POST", body });
  },
};
