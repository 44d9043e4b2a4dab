import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { readCarried, withCarried } from "../src/model/carried";
import { WorkflowError } from "../src/model/workflow";

const PNG = new Uint8Array(
  readFileSync(new URL("../../docs/images/airstriker.png", import.meta.url)),
);
const TYPE = Uint8Array.from(Buffer.from("6d696e69627241699e73776f726b666c", "hex"));
const IHDR_END = 33;
const CASES = 300;

type Bytes = Uint8Array;
const utf8 = (text: string): Bytes => new TextEncoder().encode(text);
const join = (...parts: Bytes[]): Bytes => Uint8Array.from(Buffer.concat(parts));
const read = (...parts: Bytes[]) => readCarried(new Blob(parts as BlobPart[]));

function uint(value: number, bytes: number): Bytes {
  const result = new Uint8Array(bytes);
  for (let i = bytes - 1, rest = value; i >= 0; i--, rest = Math.floor(rest / 256))
    result[i] = rest % 256;
  return result;
}

const box = (type: string, content: Bytes, size = 8 + content.length): Bytes =>
  join(uint(size, 4), utf8(type), content);
const FTYP = box("ftyp", utf8("isom"));
const carrier = (text: string) => box("uuid", join(TYPE, utf8(text)));

/** Our chunk of a PNG that carries a text. */
const chunkWith = (text: string): Bytes => {
  const whole = withCarried(PNG, text);
  return whole.slice(IHDR_END, whole.length - (PNG.length - IHDR_END));
};
const png = (...chunks: Bytes[]) => join(PNG.slice(0, IHDR_END), ...chunks, PNG.slice(IHDR_END));

/** Numbers that are the same in every run. Source: mulberry32, T. Ettinger. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

function randomText(random: (below: number) => number): string {
  const characters = ['"', "\\", "\0", "a", "{", "é", "漢", "🎮", "\n", "IEND", "minibrains\0"];
  return Array.from({ length: random(60) }, () => characters[random(characters.length)]).join("");
}

describe("a picture or clip carries any text", () => {
  test("what was put in comes out, and the rest of the picture is as it was", async () => {
    const random = randomNumbers(1);
    for (let i = 0; i < CASES; i++) {
      const text = randomText(random);
      const whole = withCarried(PNG, text);
      expect(await read(whole)).toBe(text);
      const rest = join(whole.slice(0, IHDR_END), whole.slice(-(PNG.length - IHDR_END)));
      expect(Buffer.compare(rest, PNG)).toBe(0);
      expect(await read(FTYP, carrier(text))).toBe(text);
      expect(await read(FTYP, carrier(text), box("free", utf8("x")))).toBe(text);
    }
  });

  test("a file without one carries none", async () => {
    expect(await read(PNG)).toBeNull();
    expect(await read(FTYP, box("moov", utf8("anything")))).toBeNull();
    expect(await read(FTYP, box("uuid", join(uint(7, 16), utf8("{}"))))).toBeNull();
    expect(await read(png(chunkWith("{}").with(8, 77)))).toBeNull(); // another keyword
    for (const other of ["", "GIF89a", "{}", "\x89PNG"]) expect(await read(utf8(other))).toBeNull();
  });

  test("a picture of ComfyUI is named as such, unless it carries one of ours as well", async () => {
    const theirs = join(uint(12, 4), utf8("tEXt"), utf8('workflow\0{"}'), uint(0, 4));
    await expect(read(png(theirs))).rejects.toThrow(/ComfyUI workflow/);
    expect(await read(png(theirs, chunkWith("ours")))).toBe("ours");
  });

  test("sizes of 64 bits, and up to the end of the file", async () => {
    const content = join(TYPE, utf8("{}"));
    expect(await read(FTYP, box("mdat", join(uint(20, 8), utf8("abcd")), 1), carrier("{}"))).toBe(
      "{}",
    );
    expect(await read(FTYP, box("uuid", content, 0))).toBe("{}");
  });
});

const TWICE = "It carries more than one workflow.";
const CUT = "The file is damaged: its end is missing.";
const SIZE = "The file is damaged: one of its parts has an impossible size.";
const PARTS = "The file is damaged: it has too many parts.";
const HEAD = "The file is damaged: its header is not where it should be.";
const chunk = (type: string, length = 0): Bytes => join(uint(length, 4), utf8(type), uint(0, 4));
const withoutEnd = PNG.slice(0, -12);

const many = (part: Bytes): Bytes => Uint8Array.from(Buffer.concat(Array(11_000).fill(part)));
const ATTACKS: Record<string, [Bytes, string]> = {
  "two workflows in a picture": [png(chunkWith("{}"), chunkWith("[]")), TWICE],
  "two workflows in a clip": [join(FTYP, carrier("{}"), carrier("[]")), TWICE],
  "a wrong checksum": [
    png(chunkWith("{}").with(-1, 1 ^ chunkWith("{}").at(-1)!)),
    "The file is damaged: the checksum of its workflow is wrong.",
  ],
  "text that is not UTF-8": [
    join(FTYP, box("uuid", join(TYPE, Uint8Array.of(0xff, 0xfe)))),
    "Its workflow is not text in UTF-8.",
  ],
  "a chunk that is longer than the file": [png(chunk("tEXt", 2 ** 31)), CUT],
  "our chunk, said to be longer than the file": [png(chunkWith("{}").with(0, 127)), CUT],
  "a chunk of 4 GiB": [png(chunk("iTXt", 2 ** 32 - 1)), CUT],
  "a picture without an end": [withoutEnd, CUT],
  "a picture of nothing but its signature": [PNG.slice(0, 8), CUT],
  "a picture with two headers": [png(PNG.slice(8, IHDR_END)), HEAD],
  "a picture without a header": [join(PNG.slice(0, 8), PNG.slice(IHDR_END)), HEAD],
  "a picture of very many chunks": [png(many(chunk("tEXt"))), PARTS],
  "a clip of very many boxes": [join(FTYP, many(box("free", utf8("")))), PARTS],
  "a box that is longer than the file": [join(FTYP, box("moov", utf8("ab"), 11)), CUT],
  "a box within its own head": [join(FTYP, box("free", utf8("ab"), 7)), SIZE],
  "a box of 2^64 bytes": [
    join(FTYP, box("free", join(uint(2 ** 32 - 1, 4), uint(2 ** 32 - 1, 4)), 1)),
    CUT,
  ],
  "a box of 64 bits within its own head": [join(FTYP, box("free", uint(15, 8), 1)), SIZE],
  "a box of 64 bits without a size": [join(FTYP, box("free", utf8("ab"), 1)), SIZE],
  "a box that is half there": [join(FTYP, uint(0, 5)), CUT],
};

describe("attacks", () => {
  for (const [name, [bytes, words]] of Object.entries(ATTACKS)) {
    test(name, async () => {
      await expect(read(bytes)).rejects.toThrow(new WorkflowError(words));
    });
  }

  test("of a huge file only heads are read", async () => {
    const lengths: number[] = [];
    const heads = join(FTYP, box("mdat", uint(2 ** 40, 8), 1));
    const last = FTYP.length + 2 ** 40;
    const huge = {
      size: last + carrier("{}").length,
      slice: (start: number, end: number) => {
        lengths.push(end - start);
        const there =
          start < last ? heads.slice(start, end) : carrier("{}").slice(start - last, end - last);
        return new Blob([there as BlobPart]);
      },
    };
    expect(await readCarried(huge as unknown as Blob)).toBe("{}");
    expect(Math.max(...lengths)).toBeLessThan(100);
  });

  test("a workflow that is too large is not read", async () => {
    const large = 65 * 2 ** 20;
    const bytes = [FTYP, box("uuid", TYPE, 24 + large)] as BlobPart[];
    const clip = new Blob([...bytes, new Uint8Array(large)]);
    await expect(readCarried(clip)).rejects.toThrow("Its workflow is larger than 64 MB.");
  });

  test("whatever is cut off or changed, the text comes out whole, or not at all", async () => {
    const random = randomNumbers(2);
    const text = '{"minibrains": 1, "nodes": {}}';
    for (const whole of [withCarried(PNG.slice(0, 400), text), join(FTYP, carrier(text))]) {
      for (let i = 0; i < CASES; i++) {
        const bytes = whole.slice(0, random(3) ? whole.length : random(whole.length));
        for (let n = random(3); n > 0 && bytes.length; n--)
          bytes[random(bytes.length)] = random(256);
        const found = await read(bytes).catch((error: unknown) => error);
        if (found instanceof Error) expect(found).toBeInstanceOf(WorkflowError);
        else expect(found === null || typeof found === "string").toBe(true);
      }
    }
  });

  test("random bytes behind the signature of either are refused in words", async () => {
    const random = randomNumbers(3);
    for (let i = 0; i < CASES; i++) {
      const noise = Uint8Array.from({ length: random(200) }, () => random(256));
      for (const start of [PNG.slice(0, random(2) ? 8 : IHDR_END), FTYP]) {
        const found = await read(start, noise).catch((error: unknown) => error);
        if (found !== null) expect(found).toBeInstanceOf(WorkflowError);
      }
    }
  });
});
