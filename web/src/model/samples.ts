/** The samples of a data set: what is shown of them, which are shown, and how they are corrected. */

/** A data set in the list of all. */
export interface DataSetInfo {
  readonly name: string;
  readonly game: string | null;
  /** Number of episodes. */
  readonly count: number;
  readonly samples: number;
  /** Bytes. */
  readonly size: number;
  /** Why it cannot be read; null if it can. */
  readonly fault: string | null;
}

export interface EpisodeFacts {
  readonly episode: string;
  readonly state: string;
  readonly outcome: string;
  readonly workflow: string;
  readonly seed: number;
  readonly number: number;
  readonly ticks: number;
  readonly samples: number;
  readonly deleted: number;
}

/** A data set that is open. */
export interface DataSetOverview extends DataSetInfo {
  /** The names of the actions. */
  readonly actions: readonly string[];
  readonly episodes: readonly EpisodeFacts[];
  /** Number of samples by action. */
  readonly labels: readonly number[];
  readonly corrected: number;
  readonly deleted: number;
  /** Number of samples that a brain was asked about, and how many of its answers are the label. */
  readonly asked: number;
  readonly agreed: number;
}

export interface Sample {
  readonly episode: string;
  readonly tick: number;
  /** The action; null: the sample was deleted. */
  readonly label: number | null;
  /** The label that it was collected with. */
  readonly original: number;
  readonly second: number | null;
  readonly played: number | null;
  readonly actionable: boolean | null;
  /** The answer of the brain that was asked last, and its probability. */
  readonly answer: number | null;
  readonly share: number | null;
}

/** What is known of a sample beside its labels. */
export interface Moment {
  /** The game's variables. */
  readonly features: Readonly<Record<string, number>>;
  /** What a model would be asked; null: nothing says it. */
  readonly prompt: string | null;
}

/** The samples that are shown; a text is empty if everything is. */
export interface SampleFilter {
  readonly label: string;
  readonly episode: string;
  readonly actionable: "" | "true" | "false";
  readonly kept: "kept" | "corrected" | "deleted";
  readonly answer: "any" | "differs" | "agrees";
  readonly order: "time" | "share";
}

export const ALL_SAMPLES: SampleFilter = {
  label: "",
  episode: "",
  actionable: "",
  kept: "kept",
  answer: "any",
  order: "time",
};

/** A brain that may be asked. */
export interface BrainChoice {
  readonly file: string;
  readonly title: string | null;
  readonly kind: string;
  /** The questions that it has learned to answer. */
  readonly questions: readonly string[];
  /** Why it cannot be asked; null if it can. */
  readonly fault: string | null;
}

/** How far a brain was asked about a data set. */
export interface Asking {
  readonly data: string;
  readonly brain: string;
  readonly question: string;
  readonly episode: string | null;
  readonly state: "running" | "done" | "failed" | "stopped";
  readonly done: number;
  readonly total: number;
  readonly error: string | null;
}

/** By episode and tick, the right action, or null to delete the sample. */
export type Corrections = Record<string, Record<string, number | null>>;

/** Return the query that asks for a page of the samples of a filter. */
export function sampleQuery(filter: SampleFilter, offset: number, limit: number): string {
  const query = new URLSearchParams({ offset: String(offset), limit: String(limit) });
  for (const [name, value] of Object.entries(filter)) if (value !== "") query.set(name, value);
  return String(query);
}

/** Return corrections that give each sample a label, or delete it. */
export function corrections(
  samples: readonly Sample[],
  label: (sample: Sample) => number | null,
): Corrections {
  const changes: Corrections = {};
  for (const sample of samples) {
    changes[sample.episode] ??= {};
    changes[sample.episode]![sample.tick] = label(sample);
  }
  return changes;
}

/** Return whether a brain of this kind is asked a question in words. */
export const takesQuestion = (kind: string): boolean => kind !== "policy_head";

/** Return how far a brain was asked, in words. */
export function askingText(asking: Asking, overview: DataSetOverview): string {
  if (asking.error !== null) return asking.error;
  const number = (value: number) => value.toLocaleString("en");
  const share = overview.asked ? (100 * overview.agreed) / overview.asked : 0;
  const agreement = overview.asked ? `; agrees with ${share.toFixed(1)} % of the labels` : "";
  const states = { running: "", done: "", failed: "", stopped: ", stopped" };
  return `${number(asking.done)} of ${number(asking.total)} asked${states[asking.state]}${agreement}`;
}
