// The classes of npm/src, as the TypeScript calls them.
import type { Driver } from "./driver.js";
import type { Failure } from "./failure.js";

/** Commands as arrays of words, of which those that are keys are arrays of one. */
export type RawCommands = ReadonlyArray<ReadonlyArray<string | readonly [string]>>;

/**
 * What Redis replied. Text that is not UTF-8 comes as bytes. An error occurs only inside of an
 * array, as an object.
 *
 * Integers are exact: a number while it is safe (`Number.isSafeInteger`), and a bigint beyond that.
 * There is one exception, since a script gets integers as doubles: of one that is not safe the
 * digits are known only if `INCR`, `DECR`, `INCRBY`, `DECRBY` or `HINCRBY` replies it. Of another,
 * as `BITFIELD` may reply, only about what it is, as `{ rounded }`.
 */
export type Reply = null | number | bigint | string | Uint8Array | { readonly error: string } | { readonly rounded: number } | readonly Reply[];

/** The state of a lock at one instant. */
export interface Inspection {
  /**
   * The holder, if the lock is held. If several hold it, the first of `holders`. Printing it, or
   * making it JSON, does not show its token.
   */
  readonly holder: Holder | null;
  /**
   * All holders. For a semaphore, and for a read/write lock that is read, in the order in which
   * they end; for several names at once, each one that has any of them; for any other lock, one at
   * most.
   */
  readonly holders: readonly Holder[];
  /**
   * For a semaphore: how many permits are free, out of as many as this lock counts. `null` for any
   * other lock.
   */
  readonly free: number | null;
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
   * For a quorum: the least time until a majority of its servers has a say, in whole milliseconds.
   * Too many were started recently, and may have lost the lock. `null` if a majority has a say or
   * names a holder, and if there is only one server.
   */
  readonly quarantineRemaining: number | null;
}

/** A holder of a lock. */
export interface Holder {
  /** The holder's token, or whatever another program stored. For a reentrant lock, the owner. */
  readonly token: string;
  /**
   * For a reentrant lock: how often the owner has taken it. Otherwise 1. A bigint beyond what a
   * number holds.
   */
  readonly count: number | bigint;
  /** Its time left in whole milliseconds, by Redis's clock; `null` if the lock has no expiry. */
  readonly remaining: number | null;
  /** Its label, set by the option `label`. */
  readonly label: string | null;
}

export type RawEvent = { readonly type: string; readonly lock: string; readonly error?: Failure };

/*
 * Options cross as tuples, whose places npm/src takes apart in the same order. `undefined` stands
 * for the default. Those of a lock cross as arguments: reading a place costs a crossing, and many a
 * turn makes its lock anew.
 */

type Optional<T> = T | undefined;

export type RawSettings = readonly [
  prefix: Optional<string>,
  requestTimeoutMs: Optional<number>,
  maxAttempts: Optional<number>,
  quarantineMs: Optional<number>,
  fenceLifeMs: Optional<number>,
  onEvent: Optional<(event: RawEvent) => void>,
];

/**
 * Where a bridge is, and what proves that one may use it. Without the user of a webdis, it is of
 * Upstash's dialect. It has an id if it is one of several over which names are spread.
 */
export type RawBridgeConfig = readonly [
  url: string,
  secret: string,
  user: Optional<string>,
  push: Optional<boolean>,
  scriptCache: Optional<boolean>,
  keyLocking: Optional<boolean>,
  plainHttp: Optional<boolean>,
  id: Optional<string>,
];

export const enum Kind {
  Mutex,
  Reentrant,
  Semaphore,
  Reader,
  Writer,
  Multi,
}

/** Which lock of which kind, and what only that kind has. */
export type RawKind =
  | readonly [kind: Kind.Mutex | Kind.Reader | Kind.Writer, name: string]
  | readonly [kind: Kind.Reentrant, name: string, owner: string]
  | readonly [kind: Kind.Semaphore, name: string, permits: number]
  | readonly [kind: Kind.Multi, names: readonly string[]];

export type RawLockConfig = readonly [
  ttlMs: Optional<number>,
  waitMs: Optional<number>,
  maxRequests: Optional<number>,
  fair: Optional<boolean>,
  signalList: Optional<string>,
  label: Optional<string>,
  replicas: Optional<number>,
  replicasWithinMs: Optional<number>,
];

export type RawOnceConfig = readonly [
  keepMs: Optional<number>,
  fingerprint: Optional<string>,
  maxBytes: Optional<number>,
  ttlMs: Optional<number>,
  waitMs: Optional<number>,
  maxRequests: Optional<number>,
];

export interface RawClient {
  lock(kind: RawKind, ...config: RawLockConfig): RawLock;
  once(key: string, config: RawOnceConfig): RawOnce;
  /** Its calls come to how many milliseconds no other passes, or to `null` if they pass. */
  throttle(name: string, windowMs: number): RawPaced<number | null>;
  /** Its calls come to whether the work is to be done. */
  debounce(name: string, waitMs: number, maxWaitMs?: number): RawPaced<boolean>;
  read(reads: RawCommands, shardOf: Optional<string>, tellsEach: boolean): RawSteps<Reply[]>;
}

export interface RawOnce {
  /** Comes to the lease under which the work is to be done, or to the text that is kept of it. */
  begin(): RawSteps<RawLease | string>;
  store(lease: RawLease, result: string): RawSteps<void>;
  forget(): RawSteps<boolean>;
  free(): void;
}

export interface RawPaced<T> {
  call(): RawSteps<T>;
  free(): void;
}

/** An operation, as {@link Driver} drives it to its outcome. */
export interface RawSteps<T> {
  /** Nothing has it: it says what the outcome is. */
  readonly outcome?: T;
  start(driver: Driver): void;
  answered(driver: Driver, id: number, failure: number, status: number, header: string | undefined, text: string, thrown: unknown): void;
  woken(driver: Driver, id: number): void;
  heard(driver: Driver, id: number, piece: Uint8Array): void;
  ended(driver: Driver, id: number, failure: number, status: number, text: string): void;
  cancel(driver: Driver): void;
  free(): void;
}

export interface RawLock {
  tryAcquire(): RawSteps<RawLease | null>;
  acquire(): RawSteps<RawLease>;
  acquireAndRead(reads: RawCommands): RawSteps<[RawLease, Reply[]]>;
  tryAcquireAndRead(reads: RawCommands): RawSteps<[RawLease | null, Reply[]]>;
  /** `reads` does not throw. */
  acquireAs(acquisition: RawAcquisition, reads: () => RawCommands): RawSteps<[RawLease, Reply[]]>;
  checkReads(reads: RawCommands): void;
  checkWrites(writes: RawCommands): void;
  inspect(): RawSteps<Omit<Inspection, "holder">>;
  forceRelease(): RawSteps<boolean>;
  resume(token: string): RawLease;
  free(): void;
}

export interface RawAcquisition {
  free(): void;
}

export interface RawLease {
  readonly fence: number;
  readonly token: string;
  readonly remaining: number;
  renew(ttlMs?: number): RawSteps<void>;
  downgrade(): RawSteps<void>;
  exec(commands: RawCommands): RawSteps<Reply[]>;
  commit(commands: RawCommands): RawSteps<Reply[]>;
  commitEach(commands: RawCommands): RawSteps<Reply[]>;
  release(): RawSteps<void>;
  startKeeping(): void;
  quitKeeping(): void;
  /** Comes to until when it is kept at most, as `keep` takes it. */
  beginKeeping(maxHoldMs?: number): RawSteps<number>;
  /** Comes to the number of why there is nothing left to keep, 0 if it was given back. */
  keep(until: number): RawSteps<number>;
  endKeeping(why: number): RawSteps<void>;
  handOver(): string;
  giveBack(): RawSteps<void> | undefined;
  free(): void;
}

export interface Raw {
  readonly Client: new (bridges: readonly RawBridgeConfig[], isQuorum: boolean, settings: RawSettings) => RawClient;
  readonly Acquisition: new () => RawAcquisition;
}
