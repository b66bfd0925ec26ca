// What the wasm module holds, as the TypeScript calls it, and what it says.
import type { Failure } from "./failure.js";

/** Commands as arrays of words, of which those that are keys are arrays of one. */
export type RawCommands = ReadonlyArray<ReadonlyArray<string | readonly [string]>>;

/**
 * What Redis replied. Text that is not UTF-8 comes as bytes. An error occurs only inside of an
 * array, as an object.
 *
 * Integers are exact: a number while it is safe (`Number.isSafeInteger`), and a bigint beyond that.
 * A script gets integers as doubles, so of one that is not safe the digits are known only if
 * `INCR`, `DECR`, `INCRBY`, `DECRBY` or `HINCRBY` replies it. Of another, as `BITFIELD` may reply,
 * only about what it is, as `{ rounded }`.
 */
export type Reply = null | number | bigint | string | Uint8Array | { readonly error: string } | { readonly rounded: number } | readonly Reply[];

/** The state of a lock at one instant. */
export interface Inspection {
  /** The first of `holders`, if any. Printing it, or making it JSON, does not show its token. */
  readonly holder: Holder | null;
  /**
   * All holders. For a semaphore, for reservations, and for a read/write lock that is read, in the
   * order in which they end; for several names or limits, each one that has any of them; for any
   * other lock, one at most.
   */
  readonly holders: readonly Holder[];
  /**
   * For a semaphore or reservations: how many permits or units are free, out of as many as this
   * lock counts; for several limits, for how many more leases there is room. Else `null`.
   */
  readonly free: number | null;
  /** For reservations: how many units are confirmed. `null` for any other lock. */
  readonly confirmed: number | null;
  /** Of a read/write lock: whether those who hold it are readers. `false` of any other lock. */
  readonly isRead: boolean;
  /**
   * The last fence that was issued, as long as Redis remembers it. A bigint, beyond what a number
   * holds, is another program's.
   */
  readonly fence: number | bigint | null;
  /** How many waiters are in the queue. Those that died a short while ago may be among them. */
  readonly waiters: number;
  /**
   * For a quorum, of which too many servers started recently and may have lost the lock: the least
   * time until a majority has a say, in whole milliseconds. `null` if one has, or names a holder.
   */
  readonly quarantineRemaining: number | null;
}

/** A holder of a lock. */
export interface Holder {
  /** The holder's token, or whatever another program stored. For a reentrant lock, the owner. */
  readonly token: string;
  /**
   * How often the owner of a reentrant lock has taken it; how many permits or units it has.
   * Otherwise 1. A bigint beyond what a number holds.
   */
  readonly count: number | bigint;
  /** Its time left in whole milliseconds, by Redis's clock; `null` if the lock has no expiry. */
  readonly remaining: number | null;
  /** Its label, set by the option `label`. */
  readonly label: string | null;
}

export type RawEvent = { readonly type: string; readonly lock: string; readonly error?: Failure };

/** Something that the module holds. npm/src/lib.rs has what it can be asked, in words. */
export interface Thing {
  make(words: string): Thing | undefined;
  makeWith(other: Thing, words: string, reads?: () => string): Thing;
  ask(words: string): string;
  /** Of a lease: the milliseconds that it surely lasts yet. */
  readonly remaining: number;
  /** Of a call: what it says to what happened, as `driver.ts` reads it. */
  tell(what: Told, id: number, failure: number, status: number, text: string): string;
  /** What a call made, in the order in which it said so. */
  made(): Thing | undefined;
  free(): void;
}

/** What happened. */
export const enum Told {
  Begin,
  Answered,
  Woken,
  Heard,
  Ended,
  Cancel,
}

export interface Raw {
  readonly Thing: new (words: string, onEvent?: (event: string) => void) => Thing;
}

/** A lease of the module's. */
export interface RawLease {
  readonly thing: Thing;
  readonly token: string;
  /** 0 if it is not known yet. */
  readonly fence: number;
}

/** What a call came to: a lease, if there is one, replies, and any other value. */
export interface Came {
  readonly lease: RawLease | undefined;
  readonly replies: Reply[];
  /** Of a turn of one request: its fence, or when it was wrong. */
  readonly at?: number | undefined;
  /** The same, if it did not run: after how many requests. */
  readonly sent?: number | undefined;
  /** Of an acquisition for a shared turn: how many waited ahead of it. */
  readonly ahead?: number | undefined;
  /** Reads of the last holder, of which `replies` are the replies at the time `at` of Redis's. */
  readonly left?: ReadonlyArray<readonly string[]> | undefined;
  readonly value: unknown;
}
