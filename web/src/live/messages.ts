/** The messages between the page and its web worker. */

export interface Watch {
  readonly prompt_id: string;
  readonly previews: readonly string[];
  readonly values: readonly string[];
  /** The nodes whose inputs and outputs are wanted in full. */
  readonly full: readonly string[];
  /** The nodes whose time in each of the last ticks is wanted; "": that of the whole tick. */
  readonly budgets: readonly string[];
}

export type ToWorker =
  | { readonly do: "connect"; readonly url: string }
  | { readonly do: "watch"; readonly watch: Watch | null }
  | { readonly do: "send"; readonly type: string; readonly data: object }
  /** A canvas that shows the pictures of a node. A node may have several. */
  | {
      readonly do: "screen";
      readonly key: string;
      readonly node: string;
      readonly canvas: OffscreenCanvas;
      /** A few pictures a second are enough for it. */
      readonly slow: boolean;
    }
  | { readonly do: "drop"; readonly key: string };

/** What was painted of a node: number of pictures, and tick and size of the last one. */
export interface Painted {
  readonly count: number;
  readonly tick: number;
  readonly width: number;
  readonly height: number;
}

export type FromWorker =
  | { readonly is: "open" }
  | { readonly is: "closed" }
  | { readonly is: "event"; readonly type: string; readonly data: Record<string, unknown> }
  /** Pictures painted since the last such message, by node. */
  | {
      readonly is: "frames";
      readonly seen: Readonly<Record<string, Painted>>;
    };
