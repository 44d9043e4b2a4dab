/** What the board tells its owner: gestures, in ids and sockets of the workflow. */

import type { NodeState } from "../canvas/paint";
import type { Savings } from "../live/savings";
import type { Box, Link, Point, SocketRef } from "../model/workflow";

/** What is being dragged: a new link from one end, or one that was taken off its input. */
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
  moved(positions: ReadonlyMap<string, { at: Point; width?: number | undefined }>, groups: ReadonlyMap<number, Box>): void;
  /** A node was dragged onto a wire. */
  insert(id: string, link: Link): void;
  linked(dragged: DraggedLink, target: { id: string; socket: string | null } | null, at: Point, client: Point): void;
  menu(target: MenuTarget, at: Point, client: Point): void;
  search(at: Point, client: Point): void;
  part(id: string, part: { part: "widget"; name: string } | { part: "brain" }, client: Box): void;
  open(id: string): void;
  selected(ids: readonly string[]): void;
  /** The view was drawn: it may have moved. */
  drawn(): void;
  /** Whether a link may be made; asked while one is dragged. */
  mayLink(link: Link): boolean;
}

export interface NodeStatus {
  readonly state: NodeState | null;
  readonly ms: number | null;
  readonly error: string | null;
  /** Of a node that thinks: how many thoughts took less than so many ms, and no less than the pair before. */
  readonly thinkTimes: readonly (readonly [ms: number, count: number])[];
  readonly savings: Savings;
  /** How often its process ended and another took its place. */
  readonly restarts: number;
}

/** What the board shows of nodes besides the workflow; run and faults by node id, values by "node.socket". */
export interface NodeAnnotations {
  readonly run: ReadonlyMap<string, NodeStatus>;
  readonly faults: ReadonlyMap<string, string>;
  readonly values: ReadonlyMap<string, string>;
}
