// How the two sides of the border talk: values as lines, which src/resp.rs reads, and replies as
// JSON, which npm/src/json.rs writes.
import type { Reply } from "./raw.js";

/** What the module is told. A flag is 1 or 0 there, and nothing is the default. */
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

/** What the module says, line by line. A body among them is long, so nothing is read twice. */
export class LineReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  next(): string {
    const end = this.#text.indexOf("\n", this.#at);
    const line = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return line;
  }
}

/** Replies as the module says them: a text has a letter before it that says what it is of. */
export type Said = null | number | string | readonly Said[];

export function reply(said: Said): Reply {
  if (typeof said === "string") return ofText(said[0], said.slice(1));
  return typeof said === "object" && said !== null ? said.map(reply) : said;
}

function ofText(kind: string | undefined, text: string): Reply {
  switch (kind) {
    case "+":
      return text;
    case ":":
      return BigInt(text);
    case ",":
      return { rounded: Number(text) };
    case "-":
      return { error: text };
    default:
      return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  }
}
