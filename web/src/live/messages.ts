/** The messages between the page and its web worker. */

export interface Watch {
  readonly prompt_id: string;
  readonly previews: readonly string[];
  readonly values: readonly string[];
}

export type ToWorker =
  | { readonly do: "connect"; readonly url: string }
  | { readonly do: "watch"; readonly watch: Watch | null }
  | { readonly do: "send"; readonly type: string; readonly data: object }
  | { readonly do: "screen"; readonly node: string; readonly canvas: OffscreenCanvas }
  | { readonly do: "drop"; readonly node: string };

export type FromWorker =
  | { readonly is: "open" }
  | { readonly is: "closed" }
  | { readonly is: "event"; readonly type: string; readonly data: Record<string, unknown> }
  /** Pictures painted since the last such message, by node. */
  | {
      readonly is: "frames";
      readonly seen: Readonly<Record<string, { count: number; tick: number }>>;
    };
