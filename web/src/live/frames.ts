/** Pictures from the websocket. */

export const JPEG = 4;
export const PALETTE = 100;

export interface FrameHead {
  readonly node: string;
  readonly prompt_id: string;
  readonly seq: number;
  readonly width: number;
  readonly height: number;
  readonly tick: number;
  readonly colours?: number;
}

export interface Frame {
  readonly event: number;
  readonly head: FrameHead;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Parse a binary message; null if it is malformed. */
export function readFrame(message: ArrayBuffer): Frame | null {
  if (message.byteLength < 8) return null;
  const view = new DataView(message);
  const length = view.getUint32(4);
  if (8 + length > message.byteLength) return null;
  try {
    const head = JSON.parse(
      new TextDecoder().decode(new Uint8Array(message, 8, length)),
    ) as FrameHead;
    return { event: view.getUint32(0), head, body: new Uint8Array(message, 8 + length) };
  } catch {
    return null;
  }
}

/** Convert palette and indices to RGBA; null if the sizes disagree. */
export function unpackPalette({ head, body }: Frame): Uint8ClampedArray<ArrayBuffer> | null {
  const colours = head.colours ?? 256;
  const pixels = head.width * head.height;
  if (body.length !== colours * 3 + pixels) return null;
  const palette = new Uint32Array(256);
  const bytes = new Uint8Array(palette.buffer);
  for (let i = 0; i < colours; i++)
    bytes.set([body[i * 3]!, body[i * 3 + 1]!, body[i * 3 + 2]!, 255], i * 4);
  const out = new Uint32Array(pixels);
  const first = colours * 3;
  for (let i = 0; i < pixels; i++) out[i] = palette[body[first + i]!]!;
  return new Uint8ClampedArray(out.buffer);
}

/** Draw a picture on a canvas of its size. */
export async function paint(
  frame: Frame,
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
): Promise<void> {
  const { canvas } = context;
  const { width, height } = frame.head;
  if (frame.event === PALETTE) {
    const rgba = unpackPalette(frame);
    if (!rgba) return;
    if (canvas.width !== width || canvas.height !== height)
      Object.assign(canvas, { width, height });
    context.putImageData(new ImageData(rgba, width, height), 0, 0);
  } else if (frame.event === JPEG) {
    const image = await createImageBitmap(new Blob([frame.body], { type: "image/jpeg" })).catch(
      () => null,
    );
    if (!image) return;
    if (canvas.width !== image.width || canvas.height !== image.height) {
      Object.assign(canvas, { width: image.width, height: image.height });
    }
    context.drawImage(image, 0, 0);
    image.close();
  }
}
