// A Redis command as a plain array.
import { invalidArgument } from "./errors.js";
import type { RawCommands } from "./raw.js";

/** A word of a command: its name first, then its arguments. A key is marked as one, `{ key: "{sku:42}:stock" }`. */
export type Word = string | number | bigint | { readonly key: string };

/**
 * A Redis command that runs together with an operation of the lock, in the same script: `["SET", { key: "{sku:42}:stock" }, 5]`.
 *
 * Keys are marked, because a script must name all that it touches: Redis Cluster routes by it, Upstash locks by it. On a cluster
 * they must share the lock's hash tag.
 */
export type Command = readonly [name: string, ...words: Word[]];

export function toRaw(commands: readonly Command[]): RawCommands {
  if (!Array.isArray(commands)) throw invalidArgument("commands are an array of arrays");
  return commands.map((command: Command, index) => {
    if (!Array.isArray(command) || typeof command[0] !== "string") throw invalidArgument(`command ${index} begins with its name`);
    return command.map((word) => rawWord(word, index));
  });
}

function rawWord(word: Word, index: number): string | [string] {
  if (typeof word === "string") return word;
  if (typeof word === "bigint" || (typeof word === "number" && Number.isFinite(word))) return String(word);
  if (typeof word === "object" && word !== null && typeof word.key === "string") return [word.key];
  throw invalidArgument(`a word of command ${index} is neither a string, nor a number, nor a { key }`);
}
