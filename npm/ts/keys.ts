// The positions of keys in commands, so that a key that is not marked is refused before it is sent.
import rows from "./keys.json";
import type { RawCommands } from "./raw.js";

/**
 * Commands that have their keys at the same positions, counted from the name, which is 0. The table
 * has the commands that Redis runs in a script; others pass. npm/test/keys.ts compares it with
 * Redis.
 */
interface Row {
  readonly commands: string;
  /** These are keys. */
  readonly at?: readonly number[];
  /** All are from this place on, or each `step`th. */
  readonly all?: number;
  readonly step?: number;
  /** This one says how many keys follow it. */
  readonly count?: number;
  /** Options stand from this place on. */
  readonly options?: number;
  /** Those whose value is a key. */
  readonly key?: readonly string[];
  /** Those whose value is none, and might be called as an option is. */
  readonly other?: readonly string[];
  /** The one behind which the first half of all words is keys. */
  readonly half?: string;
}

type Words = RawCommands[number];

let known: Map<string, Row> | undefined;

/** The place of a key that is not marked, if one is not. */
export function unmarkedKey(words: Words): number | undefined {
  known ??= new Map((rows as Row[]).flatMap((row) => row.commands.split(" ").map((name) => [name, row])));
  const row = known.get(String(words[0]).toUpperCase());
  return row && places(row, words).find((place) => typeof words[place] === "string");
}

/** The places of keys, some of which may be missing. */
function places({ at = [], all, step = 1, count, options, key = [], other = [], half }: Row, words: Words): number[] {
  const found = [...at];
  const end = words.length;
  const add = (from: number, to: number, step = 1) => {
    for (let place = from; place < Math.min(to, end); place += step) found.push(place);
  };
  if (all !== undefined) add(all, end, step);
  if (count !== undefined) add(count + 1, count + 1 + Number(words[count]));
  for (let place = options ?? end; place < end; place++) {
    const word = words[place];
    const option = typeof word === "string" ? word.toUpperCase() : "";
    if (option === half) {
      add(place + 1, place + 1 + (end - place - 1) / 2);
      break;
    }
    if (key.includes(option)) add(place + 1, place + 2);
    if (key.includes(option) || other.includes(option)) place++;
  }
  return found;
}
