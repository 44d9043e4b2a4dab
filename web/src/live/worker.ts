/** The web worker: it handles the websocket and paints the pictures, so a busy page loses none. */

import { type Frame, paint, readFrame } from "./frames";
import type { FromWorker, Painted, ToWorker, Watch } from "./messages";

interface Worker {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker): void;
}

const page = self as unknown as Worker;
interface Screen {
  readonly node: string;
  readonly canvas: OffscreenCanvas;
  readonly context: OffscreenCanvasRenderingContext2D;
  readonly slow: boolean;
  /** The tick of the picture on it; null: there is none. */
  tick: number | null;
}

const screens = new Map<string, Screen>();
const seen: Record<string, Painted> = {};
const REPORT_MS = 250;
/** Time after which a picture that only slow screens show is acknowledged: two may be underway, so it sets their rate. */
const SLOW_ACK_MS = 100;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

let socket: WebSocket | null = null;
let watch: Watch | null = null;
let failures = 0;

function connect(url: string): void {
  socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    failures = 0;
    page.postMessage({ is: "open" });
    sendWatch();
  };
  socket.onclose = () => {
    page.postMessage({ is: "closed" });
    setTimeout(() => connect(url), RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === "string") {
      const { type, data: body } = JSON.parse(data) as {
        type: string;
        data?: Record<string, unknown>;
      };
      page.postMessage({ is: "event", type, data: body ?? {} });
    } else {
      const frame = readFrame(data);
      if (frame) void show(frame);
    }
  };
}

function send(type: string, data: object): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type, data }));
}

function sendWatch(): void {
  send("watch", watch ?? { prompt_id: null });
}

async function show(frame: Frame): Promise<void> {
  const { node, prompt_id, seq, tick, width, height } = frame.head;
  const shown = [...screens.values()].filter((screen) => screen.node === node);
  for (const screen of shown) {
    await paint(frame, screen.context);
    screen.tick = tick;
  }
  const acknowledge = () => send("ack", { prompt_id, node, seq });
  if (shown.length > 0 && shown.every(({ slow }) => slow)) setTimeout(acknowledge, SLOW_ACK_MS);
  else acknowledge();
  if (shown.length > 0) report(node, { tick, width, height });
}

function report(node: string, painted: Omit<Painted, "count">): void {
  seen[node] = { count: (seen[node]?.count ?? 0) + 1, ...painted };
}

/** Show at once on a new screen what another one shows of the node: the next picture may be long in coming. */
function addScreen(key: string, screen: Screen): void {
  const { node, canvas, context } = screen;
  for (const other of screens.values()) {
    if (other.node !== node || other.tick === null) continue;
    const { width, height } = other.canvas;
    Object.assign(canvas, { width, height });
    context.drawImage(other.canvas, 0, 0);
    screen.tick = other.tick;
  }
  screens.set(key, screen);
  const { width, height } = canvas;
  if (screen.tick !== null) report(node, { tick: screen.tick, width, height });
}

page.onmessage = ({ data }) => {
  if (data.do === "connect") connect(data.url);
  else if (data.do === "drop") screens.delete(data.key);
  else if (data.do === "screen") {
    const context = data.canvas.getContext("2d", { alpha: false });
    const { key, node, canvas, slow } = data;
    if (context) addScreen(key, { node, canvas, context, slow, tick: null });
  } else if (data.do === "send") send(data.type, data.data);
  else {
    watch = data.watch;
    sendWatch();
  }
};

setInterval(() => {
  if (Object.keys(seen).length === 0) return;
  page.postMessage({ is: "frames", seen: { ...seen } });
  for (const node of Object.keys(seen)) delete seen[node];
}, REPORT_MS);
