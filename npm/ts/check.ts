// What TypeScript checks for some callers, for all callers: wasm would make something of whatever
// it gets.
import { invalidArgument } from "./make-error.js";
import { quoted } from "./quoted.js";

/** Hosts keep timers as signed 32-bit milliseconds, and fire longer ones at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** No text may be longer, in UTF-16: what the module's memory cannot hold ends the module. */
const LONGEST_TEXT = 2 ** 16;

export function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw invalidArgument(`${what} is a string, not ${given(value)}`);
  if (value.length > LONGEST_TEXT) throw invalidArgument(`${what} has ${value.length} characters, and may have ${LONGEST_TEXT}`);
  // Sent as UTF-8, all such text would become the same.
  if (!isWellFormed(value)) throw invalidArgument(`${what} is no Unicode text: half of a surrogate pair is missing`);
  return value;
}

export const optionalText = (value: unknown, what: string): string | undefined => (value === undefined ? undefined : text(value, what));

/** What was given, as a message may show it: a string could be a secret. */
export function given(value: unknown): string {
  if (value === undefined) return "undefined: is its variable set?";
  if (value === null || typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Hosts of before 2023 do not know it, but this pattern: what it finds is alone. */
export const isWellFormed = (value: string): boolean => (value as { isWellFormed?(): boolean }).isWellFormed?.() ?? !/\p{Surrogate}/u.test(value);

/** A time that must have an end. */
export const milliseconds = (value: unknown, what: string): number | undefined => (value === undefined ? undefined : duration(value, what));

/** The same, without a default. */
export function duration(value: unknown, what: string): number {
  if (isWhole(value, 0, Number.MAX_SAFE_INTEGER)) return value;
  throw invalidArgument(`${what} is a whole number of milliseconds, 0 or more, not ${given(value)}${mended(value)}`);
}

/** A time that is a limit. `Infinity` is none. */
export function limit(value: unknown, what: string, least: 0 | 1 = 0): number | undefined {
  if (value === undefined || value === Infinity || isWhole(value, least, Number.MAX_SAFE_INTEGER)) return value;
  throw invalidArgument(`${what} is a whole number of milliseconds, ${least} or more, or Infinity for no limit, not ${given(value)}${mended(value)}`);
}

/** A number that is a limit. `Infinity` is none. */
export function count(value: unknown, what: string, least: 0 | 1 = 0): number | undefined {
  const most = 0xffff_ffff;
  if (value === Infinity) return most;
  if (value === undefined || isWhole(value, least, most)) return value;
  throw invalidArgument(`${what} is a whole number, ${least} to ${most}, or Infinity for no limit, not ${given(value)}${mended(value)}`);
}

/** How many there are, of something that is counted. */
export function several(value: unknown, what: string): number {
  if (isWhole(value, 1, 0xffff_ffff)) return value;
  throw invalidArgument(`${what} are a whole number, 1 or more, not ${given(value)}`);
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** What to write instead. */
function mended(value: unknown): string {
  if (value === Infinity) return ": it must have an end";
  const isFraction = typeof value === "number" && value > 0 && !Number.isInteger(value);
  return isFraction ? `; round it: ${Math.ceil(value)}` : "";
}

export function flag(value: unknown, what: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw invalidArgument(`${what} is true or false, not ${given(value)}`);
}

/** What does work, checked before the work begins. */
export function work<F>(value: F): F {
  if (typeof value !== "function") throw invalidArgument(`the work is a function, not ${given(value)}`);
  return value;
}

export function callable<F>(value: F, what: string): F {
  if (value === undefined || typeof value === "function") return value;
  throw invalidArgument(`${what} is a function, not ${given(value)}`);
}

/** What options may be called: the compiler sees to it that none of a type is missing. */
export type Names<O> = Readonly<Record<keyof O & string, 1>>;

/**
 * Options, all of which are known: one that is misspelt would be its default without a word. Each
 * is read once, also one that is inherited: a spread of the options would lose that.
 */
export function options<O extends object>(value: O, names: Readonly<Record<string, 1>>, what: string): O {
  if (typeof value !== "object" || value === null) throw invalidArgument(`the options of ${what} are an object, not ${given(value)}`);
  const all = Object.keys(names);
  const unknown = Object.keys(value).find((name) => !all.includes(name));
  if (unknown !== undefined) throw invalidArgument(`${quoted(unknown)} is no option of ${what}: ${meant(unknown, all)}`);
  return Object.fromEntries(all.filter((name) => name in value).map((name) => [name, value[name as keyof O]])) as O;
}

/** What other locks call ours. */
const ELSEWHERE: Readonly<Record<string, string>> = { token: "credential", lease: "ttl", lockTimeout: "ttl", acquireTimeout: "wait", retry: "wait", retryCount: "wait" };

function meant(unknown: string, names: readonly string[]): string {
  const ours = Object.hasOwn(ELSEWHERE, unknown) ? ELSEWHERE[unknown]! : "";
  if (names.includes(ours)) return `it is called ${ours} here`;
  const far = (name: string) => distance(unknown.slice(0, 40), name);
  const nearest = names.reduce((one, other) => (far(other) < far(one) ? other : one));
  return far(nearest) < nearest.length / 2 ? `did you mean ${nearest}?` : `there are ${names.join(", ")}`;
}

/** How many letters make the difference: Levenshtein's. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to++) next.push(Math.min(row[to + 1]! + 1, next[to]! + 1, row[to]! + (other[to] === letter ? 0 : 1)));
    row = next;
  }
  return row[other.length]!;
}

/** Not by `instanceof`: on some hosts a request's signal is of another realm. */
export function abortSignal(value: AbortSignal | undefined, what: string): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const isSignal = typeof value === "object" && value !== null && ["aborted", "addEventListener", "removeEventListener"].every((name) => name in value);
  if (!isSignal) throw invalidArgument(`${what} is an AbortSignal, not ${given(value)}`);
  return value;
}
