/**
 * Pictures and clips that carry a workflow: a PNG in an iTXt chunk, an MP4 in a box of its own. Files come from anybody,
 * so nothing is read but the list of their parts and the one part with the workflow, both within limits.
 */

import { COMFYUI_FILE, WorkflowError } from "./workflow";

/** Of the text of a workflow, in bytes; the server reads no larger file. */
const MAX_TEXT = 64 * 2 ** 20;
/** Of the chunks of a PNG, or the outermost boxes of an MP4. */
const MAX_PARTS = 10_000;

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** Of signature and IHDR, which comes first. */
const PNG_HEAD = 33;
/** Of the length, the type and the checksum of a chunk. */
const CHUNK_FRAME = 12;
/** The head of our chunk: keyword, not compressed, no language, no translated keyword. */
const ITXT_HEAD = new TextEncoder().encode("minibrains\0\0\0\0\0");
/** The beginnings of the chunks, of the type tEXt, in which ComfyUI saves a graph. */
const COMFYUI_HEADS = ["workflow\0", "prompt\0"];
/** The type of our box, as the server writes it (`minibrains/video.py`). */
const BOX_TYPE = "6d696e69627241699e73776f726b666c";
const BOX_HEAD = 24;

/** Return the text of the workflow that a file carries; null if it carries none. Throws WorkflowError. */
export async function readCarried(file: Blob): Promise<string | null> {
  const start = await bytesOf(file, 0, 8);
  let found: readonly Span[] = [];
  if (PNG_SIGNATURE.every((byte, i) => start[i] === byte)) found = await spansInPng(file);
  else if (textOf(start.subarray(4, 8)) === "ftyp") found = await spansInMp4(file);
  if (found.length > 1) throw new WorkflowError("It carries more than one workflow.");
  const [span] = found;
  if (!span) return null;
  const size = span.end - span.start;
  if (size > MAX_TEXT)
    throw new WorkflowError(`Its workflow is larger than ${MAX_TEXT / 2 ** 20} MB.`);
  const bytes = await bytesOf(file, span.start, size);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new WorkflowError("Its workflow is not text in UTF-8.");
  }
}

/** Return a PNG that carries a text. */
export function withCarried(png: Uint8Array, text: string): Uint8Array<ArrayBuffer> {
  const content = new TextEncoder().encode(text);
  const chunk = new Uint8Array(CHUNK_FRAME + ITXT_HEAD.length + content.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, chunk.length - CHUNK_FRAME);
  chunk.set(new TextEncoder().encode("iTXt"), 4);
  chunk.set(ITXT_HEAD, 8);
  chunk.set(content, 8 + ITXT_HEAD.length);
  view.setUint32(chunk.length - 4, crc32(chunk.subarray(4, -4)));
  const result = new Uint8Array(png.length + chunk.length);
  result.set(png.subarray(0, PNG_HEAD));
  result.set(chunk, PNG_HEAD);
  result.set(png.subarray(PNG_HEAD), PNG_HEAD + chunk.length);
  return result;
}

/** Where a text is in a file. */
interface Span {
  readonly start: number;
  readonly end: number;
}

async function spansInPng(file: Blob): Promise<readonly Span[]> {
  const found: Span[] = [];
  let isComfyUi = false;
  let at = PNG_SIGNATURE.length;
  for (let parts = 0; ; parts++) {
    if (parts === MAX_PARTS) throw damaged("it has too many parts");
    const head = await bytesOf(file, at, 8 + ITXT_HEAD.length);
    if (head.length < CHUNK_FRAME) throw damaged("its end is missing");
    const length = uint32(head, 0);
    const type = textOf(head.subarray(4, 8));
    const end = at + CHUNK_FRAME + length;
    if (end > file.size) throw damaged("its end is missing");
    if ((type === "IHDR") !== (parts === 0)) throw damaged("its header is not where it should be");
    const isOurs = length >= ITXT_HEAD.length && ITXT_HEAD.every((byte, i) => head[8 + i] === byte);
    if (type === "iTXt" && isOurs) {
      if (length > MAX_TEXT) throw damaged("its workflow is too large");
      const chunk = await bytesOf(file, at + 4, length + 8);
      if (uint32(chunk, chunk.length - 4) !== crc32(chunk.subarray(0, -4)))
        throw damaged("the checksum of its workflow is wrong");
      found.push({ start: at + 8 + ITXT_HEAD.length, end: end - 4 });
    }
    const text = textOf(head.subarray(8));
    if (type === "tEXt" && COMFYUI_HEADS.some((start) => text.startsWith(start))) isComfyUi = true;
    if (type === "IEND" && isComfyUi && !found.length) throw new WorkflowError(COMFYUI_FILE);
    if (type === "IEND") return found;
    at = end;
  }
}

async function spansInMp4(file: Blob): Promise<readonly Span[]> {
  const found: Span[] = [];
  let at = 0;
  for (let parts = 0; at < file.size; parts++) {
    if (parts === MAX_PARTS) throw damaged("it has too many parts");
    const head = await bytesOf(file, at, BOX_HEAD);
    if (head.length < 8) throw damaged("its end is missing");
    const end = at + boxSize(head, file.size - at);
    if (end > file.size) throw damaged("its end is missing");
    const isOurs = textOf(head.subarray(4, 8)) === "uuid" && hexOf(head.subarray(8)) === BOX_TYPE;
    if (isOurs && end >= at + BOX_HEAD) found.push({ start: at + BOX_HEAD, end });
    at = end;
  }
  return found;
}

/** Return the size of a box, of which `rest` bytes are there at most. */
function boxSize(head: Uint8Array, rest: number): number {
  const size = uint32(head, 0);
  if (size === 0) return rest; // up to the end of the file
  if (size === 1 && head.length >= 16) {
    const large = uint32(head, 8) * 2 ** 32 + uint32(head, 12);
    if (large >= 16) return large;
  } else if (size >= 8) return size;
  throw damaged("one of its parts has an impossible size");
}

const damaged = (reason: string) => new WorkflowError(`The file is damaged: ${reason}.`);

const bytesOf = async (file: Blob, start: number, length: number): Promise<Uint8Array> =>
  new Uint8Array(await file.slice(start, start + length).arrayBuffer());

const uint32 = (bytes: Uint8Array, at: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(at);

const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Return the checksum of a chunk. Source: PNG (Third Edition), W3C, annex D. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
