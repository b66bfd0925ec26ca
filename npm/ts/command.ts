// A Redis command as a plain array.
import { given, isWellFormed } from "./check.js";
import { invalidArgument } from "./make-error.js";
import type { RawCommands } from "./raw.js";

/** A word of a command: its name, or an argument. Keys are marked: `{ key: "{sku:42}:stock" }`. */
export type Word = string | number | bigint | { readonly key: string };

/**
 * A Redis command that runs together with an operation of the lock, in the same script:
 * `["SET", { key: "{sku:42}:stock" }, 5]`.
 *
 * Mark the keys: a script must name every key that it touches, because Redis Cluster routes by them
 * and Upstash locks by them. On a cluster they must have the lock's hash tag. One of Redis' own
 * commands with a key that is not marked is refused. Of others edgelock cannot know the keys.
 */
export type Command = readonly [name: string, ...words: Word[]];

export function toRaw(commands: readonly Command[]): RawCommands {
  if (!Array.isArray(commands)) throw invalidArgument(`commands are an array of arrays, as [["GET", { key: "…" }]], not ${given(commands)}`);
  let size = 0;
  // Unlike `map`, it does not skip what is missing.
  return Array.from(commands, (command: Command, index) => {
    if (!Array.isArray(command) || typeof command[0] !== "string") throw invalidArgument(`command ${index} is no array that begins with its name, as ["GET", { key: "…" }]`);
    return Array.from(command, (word, place) => {
      const raw = rawWord(word, place, index);
      size += sizeOf(raw);
      if (size > MAX_BYTES) throw tooLarge();
      return raw;
    });
  });
}

/** The commands again, in which nothing is the caller's. */
export function fromRaw(commands: RawCommands): Command[] {
  const word = (raw: string | readonly [string]): Word => (typeof raw === "string" ? raw : { key: raw[0] });
  return commands.map((words) => words.map(word) as unknown as Command);
}

/**
 * Bytes of commands that are sent together, of which a word has 16 more. src/script/commands.rs has
 * the same bound. Here it keeps out what would end the module, since its memory could not hold it.
 */
const MAX_BYTES = 16 * 1024 * 1024;

const tooLarge = () => invalidArgument(`the commands have more than ${MAX_BYTES} bytes together; send less at once`);

const sizeOf = (word: string | readonly [string]): number => 16 + (typeof word === "string" ? word : word[0]).length;

function sendable(word: string, place: number, index: number): string {
  if (word.length > MAX_BYTES) throw tooLarge();
  if (!isWellFormed(word)) throw invalidArgument(`word ${place} of command ${index} is no Unicode text: half of a surrogate pair is missing`);
  return word;
}

function rawWord(word: Word, place: number, index: number): string | [string] {
  if (typeof word === "string") return sendable(word, place, index);
  if (typeof word === "bigint" || (typeof word === "number" && Number.isFinite(word))) return String(word);
  if (typeof word === "object" && word !== null && "key" in word) {
    // Read once: it may be a getter.
    const { key } = word;
    if (typeof key === "string") return [sendable(key, place, index)];
    throw invalidArgument(`a key is a string; in word ${place} of command ${index} it is ${given(key)}`);
  }
  throw invalidArgument(`a word of a command is a string, a finite number or { key: "…" }; word ${place} of command ${index} is ${given(word)}`);
}

/** The bytes that commands add to a request, unless JSON escapes much. Keys are in it twice. */
export function bytesOf(commands: readonly Command[]): number {
  /** Quotes and a comma. */
  const AROUND = 3;
  let bytes = 0;
  for (const command of commands) {
    bytes += 2 * AROUND;
    for (const word of command) bytes += typeof word === "object" ? 2 * (bytesIn(word.key) + AROUND) : bytesIn(String(word)) + AROUND;
  }
  return bytes;
}

/** In UTF-8, at most. */
const bytesIn = (text: string): number => (/^[\0-\x7f]*$/.test(text) ? text.length : 3 * text.length);

export function isSame(one: Command, other: Command): boolean {
  const isSameWord = (one: Word, other: Word) => (typeof one === "object" ? typeof other === "object" && one.key === other.key : one === other);
  return one.length === other.length && one.every((word, at) => isSameWord(word, other[at]!));
}
