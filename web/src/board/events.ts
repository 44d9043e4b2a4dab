/** Events of the board: gestures, in terms of ids and sockets of the workflow. */

import type { NodePicture, NodeState } from "../canvas/paint";
import type { WireValue } from "../canvas/wire_value";
import type { Budget } from "../live/budget";
import type { NodeProgress } from "../live/progress";
import type { Savings } from "../live/savings";
import type { Box, Link, Point, SocketRef } from "../model/workflow";

/** A link that is being dragged: a new one, or one that was detached from its input. */
export interface DraggedLink {
  readonly end: SocketRef;
  readonly side: "output" | "input";
  readonly detached: Link | null;
}

export type MenuTarget =
  | { readonly on: "node"; readonly id: string }
  | { readonly on: "group"; readonly index: number }
  | { readonly on: "link"; readonly link: Link }
  | { readonly on: "empty" };

export interface BoardEvents {
  moved(
    positions: ReadonlyMap<string, { at: Point; width?: number | undefined }>,
    groups: ReadonlyMap<number, Box>,
  ): void;
  /** A node was dropped on a link. */
  insert(id: string, link: Link): void;
  linked(
    dragged: DraggedLink,
    target: { id: string; socket: string | null } | null,
    at: Point,
    client: Point,
  ): void;
  menu(target: MenuTarget, at: Point, client: Point): void;
  search(at: Point, client: Point): void;
  part(id: string, part: { part: "widget"; name: string } | { part: "brain" }, client: Box): void;
  open(id: string): void;
  selected(ids: readonly string[]): void;
  /** The view was drawn, and may have moved. */
  drawn(): void;
  /** Return true if this link is possible. Called while one is dragged. */
  mayLink(link: Link): boolean;
}

export type { NodePicture };

export interface NodeStatus {
  readonly state: NodeState | null;
  readonly ms: number | null;
  readonly error: string | null;
  readonly runs: number;
  /** Ticks of the run when the server last reported that it had run. */
  readonly ranAt: number;
  /** Histogram of a background node's calls: the number that took less than `ms`, and at least the `ms` of the pair before. */
  readonly thinkTimes: readonly (readonly [ms: number, count: number])[];
  readonly savings: Savings;
  readonly progress: NodeProgress | null;
  /** Number of times that its process ended and was replaced. */
  readonly restarts: number;
}

/** Data that the board shows at nodes beside the workflow: run and faults by node id, values by "node.socket". */
export interface NodeAnnotations {
  readonly run: ReadonlyMap<string, NodeStatus>;
  readonly faults: ReadonlyMap<string, string>;
  readonly values: ReadonlyMap<string, string>;
  /** The values on wires, by "node.socket"; null: they are not shown. */
  readonly wireValues: ReadonlyMap<string, WireValue> | null;
  /** The conditions of the breakpoints, by "node.output". */
  readonly breakpoints: ReadonlyMap<string, string>;
  /** The times of the last ticks, in strips over the nodes; null: there are none. */
  readonly budget: Budget | null;
  /** The pictures on screens until a run sends one. */
  readonly pictures: ReadonlyMap<string, NodePicture>;
}
