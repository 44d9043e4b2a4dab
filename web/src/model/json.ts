/** JSON data. Ids may be any text, including `constructor` and `__proto__`, so look them up with `own`. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return an own property of an object, not an inherited one. */
export function own<T>(
  object: Readonly<Record<string, T>> | undefined | null,
  key: string,
): T | undefined {
  return object && Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Return a copy with a property set, or removed if `value` is undefined. */
export function withKey<T extends object>(object: T, key: string, value: unknown): T {
  const entries = Object.entries(object);
  const kept = entries.map(([name, old]) => [name, name === key ? value : old] as const);
  const all = Object.hasOwn(object, key) ? kept : [...kept, [key, value] as const];
  return Object.fromEntries(all.filter(([, item]) => item !== undefined)) as T;
}

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => same(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}

/** Format JSON as in our files: indented by one, short lists on one line, a newline at the end. */
export function dumpJson(value: unknown): string {
  const text = JSON.stringify(value, null, 1);
  const joined = text.replace(
    /\[\n([^[\]{}]{0,200}?)\n *\]/g,
    (_, lines: string) =>
      `[${lines
        .split("\n")
        .map((line) => line.trim())
        .join(" ")}]`,
  );
  return `${joined}\n`;
}
