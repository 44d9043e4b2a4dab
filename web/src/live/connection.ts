/** The connection to the server, by way of the web worker. */

import type { FromWorker, Painted, ToWorker, Watch } from "./messages";

export interface ConnectionEvents {
  event(type: string, data: Record<string, unknown>): void;
  connected(isOpen: boolean): void;
  frames(seen: Readonly<Record<string, Painted>>): void;
}

export class Connection {
  readonly client = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
  readonly #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  #watch = "";

  constructor(events: ConnectionEvents) {
    this.#worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.is === "event") events.event(data.type, data.data);
      else if (data.is === "frames") events.frames(data.seen);
      else events.connected(data.is === "open");
    };
    const url = new URL("api/ws", document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("clientId", this.client);
    this.#post({ do: "connect", url: url.href });
  }

  /** Tell the server which nodes are visible. It sends pictures and values of these only. */
  watch(watch: Watch | null): void {
    const text = JSON.stringify(watch);
    if (text === this.#watch) return;
    this.#watch = text;
    this.#post({ do: "watch", watch });
  }

  /** Send a message to the server. It is lost if there is no connection. */
  send(type: string, data: object): void {
    this.#post({ do: "send", type, data });
  }

  /** Show a node's pictures on a canvas, which `key` names. If `slow`, a few a second are enough. */
  addScreen(node: string, canvas: HTMLCanvasElement, key = node, slow = false): void {
    const offscreen = canvas.transferControlToOffscreen();
    const message: ToWorker = { do: "screen", key, node, canvas: offscreen, slow };
    this.#worker.postMessage(message, [offscreen]);
  }

  dropScreen(key: string): void {
    this.#post({ do: "drop", key });
  }

  /** End the connection for good. */
  close(): void {
    this.#worker.terminate();
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }
}
