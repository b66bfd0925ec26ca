// How the two sides of the border talk: values as lines, which src/resp.rs reads, and replies as
// JSON, which npm/src/json.rs writes.
import type { Reply } from "./raw.js";

/** What the module is told. Nothing is the default. */
export type Value = string | number | boolean | null | undefined | readonly Value[];

export function words(...values: readonly Value[]): string {
  let lines = "";
  for (const value of values) lines += line(value);
  return lines;
}

function line(value: Value): string {
  // Text that needs no escape goes as it is: the module reads that in half the time.
  if (typeof value === "string") return `+${/[^ -$&-~]/.test(value) ? encodeURIComponent(value) : value}\r\n`;
  if (value == null) return "$-1\r\n";
  if (typeof value === "object") return `*${value.length}\r\n${words(...value)}`;
  // As good as for ever, where `Infinity` is allowed.
  return `:${Math.min(Number(value), Number.MAX_SAFE_INTEGER)}\r\n`;
}

/** Replies as the module says them: a text has a letter before it that says what it is of. */
export type Said = null | number | string | readonly Said[];

export function reply(said: Said): Reply {
  if (typeof said === "string") return ofText(said[0], said.slice(1));
  return typeof said === "object" && said !== null ? said.map(reply) : said;
}

function ofText(kind: string | undefined, text: string): Reply {
  if (kind === "+") return text;
  if (kind === ":") return BigInt(text);
  if (kind === ",") return { rounded: Number(text) };
  if (kind === "-") return { error: text };
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}
