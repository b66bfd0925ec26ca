// A name that can be locked.
import { type CallOptions, type Signals, signalOf } from "./abort.js";
import { text, work as checkWork } from "./check.js";
import { type Command, toRaw } from "./command.js";
import { heeded, type Host, inBackground } from "./going-on.js";
import type { LockEvent } from "./event.js";
import { type Call, type Instance, instance, Revivable } from "./instance.js";
import { Lease } from "./lease.js";
import type { LockOptions } from "./lock-options.js";
import type { Came, Holder, Inspection, RawCommands, RawLease, Reply, Thing } from "./raw.js";
import { reply, type Said, type Value, words } from "./words.js";

/** What a lock without a `ttl` has. */
const TTL = 10_000;

/** @internal What the client that made a lock knows. */
export interface Maker extends Host {
  readonly tell: (event: LockEvent) => void;
  /** Reads where the lock of this name lives. The reply to a read that failed is its error. */
  readonly readEach: (reads: readonly Command[], name: string) => Promise<Reply[]>;
}

/** @internal What a lock is made of, besides its options. */
export interface Made {
  readonly name: string;
  /** Its key in Redis, as errors name it. */
  readonly key: string;
  /** A name that lives where it lives. */
  readonly livesWith: string;
  /** Whether one turn ends before the next begins. */
  readonly hasTurns: boolean;
  /** The same lock with other options. */
  readonly again: (options: LockOptions) => Lock;
  readonly raw: Revivable;
  readonly maker: Maker;
}

/** @internal What a group commit must know of a lock. */
export interface Home extends Pick<Made, "key" | "hasTurns" | "maker"> {
  readonly readEach: (reads: readonly Command[]) => Promise<Reply[]>;
  /** What callers have in common that share its turns: the key, and the replicas it waits for. */
  readonly line: string;
  readonly ttl: number;
  readonly wait: number;
  /** Each of these says that the caller no longer waits. */
  readonly signals: Signals;
  readonly waitsForReplicas: boolean;
  /** The same lock for a shared turn: it waits this long, and ignores its callers' signals. */
  readonly patient: (wait: number) => Lock;
  /** Whether a turn may be one request, if so many were sent for it already. */
  readonly mayGuess: (sent: number) => boolean;
  /** Throws if these could not be sent with an acquisition. */
  readonly checkReads: (reads: RawCommands) => void;
  /** Throws if these could not be run by its lease. */
  readonly checkWrites: (writes: RawCommands) => void;
}

/**
 * @internal One acquisition that several callers make, one after the other. The twin of
 * src/acquisition.rs, which says why.
 */
export class Acquisition extends Revivable {
  constructor() {
    super(() => new (instance().raw.Thing)(words("acquisition")), false);
  }
}

/** @internal A turn, for which so many requests were sent, decided by what reads should find. */
export interface Guess {
  readonly sent: number;
  readonly reads: readonly Command[];
  /** Texts, exact numbers, nothing, and lists of these. */
  readonly found: readonly Reply[];
  readonly writes: readonly Command[];
  /** Of so many of these, which come last and only read, the next holder is told. */
  readonly told: number;
  /** Until when the writes may run, in microseconds of Redis's clock. */
  readonly until: number;
  /** Whether it takes the lock if the reads find something else, or keeps it for itself. */
  readonly takes: boolean;
}

/** @internal What the last holder left: what reads found, at a time of Redis's in microseconds. */
export interface Left {
  readonly at: number;
  readonly reads: ReadonlyArray<readonly string[]>;
  readonly found: readonly Reply[];
}

/**
 * @internal What becomes of it: it ran, under the fence `at`; the reads found something else, and
 * it has the lock; or it did not run, after so many requests. Then the reads found that `at` this
 * time of Redis's, or another has the lock, or waits for it.
 */
export type Guessed =
  | { readonly at: number; readonly replies: Reply[] }
  | { readonly lease: Lease; readonly replies: Reply[] }
  | { readonly sent: number; readonly at: number | undefined; readonly replies: Reply[] };

/** An {@link Inspection} as the module says it. */
type Found = Omit<Inspection, "holder" | "holders" | "free" | "confirmed" | "fence"> & {
  readonly holders: ReadonlyArray<Omit<Holder, "count"> & { readonly count: Said }>;
  readonly free: Said;
  readonly confirmed: Said;
  readonly fence: Said;
};

/**
 * A name that one holder (of a semaphore, a number of holders) may have at a time, and how to ask
 * for it. Made by a {@link Client}.
 */
export class Lock {
  /** The name that was asked for; several names with commas between them. */
  readonly name: string;
  readonly #made: Made;
  readonly #options: LockOptions;

  private constructor(made: Made, options: LockOptions) {
    this.name = made.name;
    this.#made = made;
    this.#options = { ...options };
  }

  /** @internal */
  static of(made: Made, options: LockOptions): Lock {
    return new Lock(made, options);
  }

  /** @internal */
  get home(): Home {
    const { ttl = TTL, wait = 5_000, signal, waitForReplicas } = this.#options;
    const { key, livesWith, hasTurns, again, raw, maker } = this.#made;
    const { instance, value: lock } = raw.get();
    return {
      key,
      hasTurns,
      maker,
      readEach: (reads) => maker.readEach(reads, livesWith),
      line: waitForReplicas ? `${key}\n${waitForReplicas.count} ${waitForReplicas.within}` : key,
      ttl,
      wait,
      signals: [signal, heeded(maker)],
      waitsForReplicas: waitForReplicas !== undefined,
      patient: (wait) => again({ ...this.#options, wait, signal: undefined }).#forOthers(),
      mayGuess: (sent) => instance.ask(lock, "mayGuess", sent) === "true",
      checkReads: (reads) => void instance.ask(lock, "checkReads", reads),
      checkWrites: (writes) => void instance.ask(lock, "checkWrites", writes),
    };
  }

  /**
   * Takes the lock if it is free, by one request unless some get lost; `null` if another has it.
   * Who that is, {@link Lock.inspect} tells, or a {@link HeldError} of {@link Lock.acquire}.
   */
  async tryAcquire(options: CallOptions = {}): Promise<Lease | null> {
    return this.#wait(["tryAndRead"], options, ({ lease }, of) => (lease ? this.#lease(lease, of) : null));
  }

  /**
   * As {@link Lock.tryAcquire}, and reads in the same request and at the same instant, whether it
   * gets the lock or not.
   */
  async tryAcquireAndRead(reads: readonly Command[], options: CallOptions = {}): Promise<[lease: Lease | null, replies: Reply[]]> {
    return this.#wait(["tryAndRead", toRaw(reads)], options, ({ lease, replies }, of) => [lease ? this.#lease(lease, of) : null, replies]);
  }

  /**
   * Takes the lock as soon as it is free, and waits up to `wait` for that. Otherwise it throws a
   * {@link HeldError}, and leaves the queue as with the `signal`.
   */
  async acquire(options: CallOptions = {}): Promise<Lease> {
    return this.#wait(["acquire"], options, ({ lease }, of) => this.#lease(lease!, of));
  }

  /** As {@link Lock.acquire}, and reads in the same request, under the lock. */
  async acquireAndRead(reads: readonly Command[], options: CallOptions = {}): Promise<[lease: Lease, replies: Reply[]]> {
    return this.#wait(["acquire", toRaw(reads)], options, ({ lease, replies }, of) => [this.#lease(lease!, of), replies]);
  }

  /**
   * @internal As {@link Lock.acquireAndRead}, for a turn for which so many requests were `sent`. If
   * it `guesses`, what the last holder left is as good as the reads. If it `listens`, it expects to
   * wait. The reply to a read that failed is its error. `reads` is called before each request that
   * may take the lock. A later call with the same acquisition takes over what this call had.
   */
  async acquireAs(acquisition: Acquisition, { sent, guesses, listens }: Readonly<{ sent: number; guesses: boolean; listens: boolean }>, reads: () => readonly Command[]) {
    // Items that arrive in the same moment must be in the first request.
    await undefined;
    const acquire = (lock: Thing) => lock.makeWith(acquisition.get().value, words(sent, guesses, listens), () => words(toRaw(reads())));
    return this.#wait(acquire, {}, ({ lease, replies, ahead, at, left }, of) => ({
      lease: this.#lease(lease!, of),
      ahead: ahead!,
      replies,
      left: left && ({ at: at!, reads: left, found: replies } satisfies Left),
    }));
  }

  /**
   * @internal Runs the writes as if under the lock, or learns that they were decided wrong. `begin`
   * gets the token by which it may have the lock from then on.
   */
  async guess(guess: Guess, begin: (token: string) => void): Promise<Guessed> {
    const said = words("guess", ...values(guess));
    const make = (lock: Thing) => {
      const call = lock.make(said)!;
      begin(call.ask(words("token")));
      return call;
    };
    return this.#wait(make, {}, (came, of) => this.#guessed(came, of));
  }

  /** @internal As {@link Lock.guess}, under a lock that was handed over. */
  async guessUnder(lease: Lease, guess: Guess): Promise<Guessed> {
    const { instance } = this.#made.raw.get();
    return this.#guessed(await lease.turn(values(guess)), instance);
  }

  #guessed({ lease, replies, at, sent }: Came, of: Instance): Guessed {
    if (lease) return { lease: this.#lease(lease, of), replies };
    return sent === undefined ? { at: at!, replies } : { sent, at, replies };
  }

  /**
   * Takes the lock and runs `work` under it. Renews it meanwhile, up to `maxHold`, and gives it
   * back at the end, whatever happened. This returns or throws what the work does.
   *
   * If the lease is lost, this rejects at once and the lease's `signal` is aborted; pass that
   * signal to whatever the work awaits. The error has `isOutcomeUnknown` if the outcome of the
   * work's last write is unknown.
   *
   * The `signal` of this call ends the wait. Once the work has begun, it aborts the lease's
   * `signal`, and the lock is kept until the work has ended. This rejects with the reason, or with
   * what the work throws.
   */
  async run<T>(work: (lease: Lease) => T | PromiseLike<T>, options: CallOptions = {}): Promise<T> {
    checkWork(work);
    const lease = await this.acquire(options);
    return lease.run(work, { maxHold: this.#options.maxHold, signal: options.signal });
  }

  /**
   * Who holds the lock, its time left, and the last fence. For operators and monitoring: to decide
   * anything, acquire.
   */
  async inspect(options: CallOptions = {}): Promise<Inspection> {
    const found = await this.#wait(["inspect"], options, ({ value }) => value as Found);
    // Anyone with the token can release the lock, so no log should show it by accident.
    const holders = found.holders.map((holder) => Object.defineProperty({ ...holder, count: reply(holder.count) as number | bigint }, "token", { enumerable: false }));
    const [free, confirmed] = [reply(found.free) as number | null, reply(found.confirmed) as number | null];
    return { holder: holders[0] ?? null, ...found, holders, free, confirmed, fence: reply(found.fence) as Inspection["fence"] };
  }

  /**
   * Frees the lock, whoever holds it, and returns whether anybody did. The holder learns of it at
   * once if it listens, else at its next call or renewal. For operators.
   */
  async forceRelease(options: CallOptions = {}): Promise<boolean> {
    return this.#wait(["forceRelease"], options, ({ value }) => value as boolean);
  }

  /**
   * The lease behind a token that another handler {@link Lease.handOver | handed over}. Sends
   * nothing: renew it to learn whether it is still held. Until then `remaining` and `fence` are 0.
   * Another kind of lock takes it for lost. A reader that is resumed as the writer stays a reader.
   *
   * Only one handler at a time may use a lease, so hand it over when all its calls were answered.
   * Else a request that the other handler gave up on could run between this handler's writes.
   */
  resume(token: string): Lease {
    const { instance, value: lock } = this.#made.raw.get();
    const thing = instance.make(lock, "resume", text(token, "a token"));
    return this.#lease({ thing, token, fence: 0 }, instance, this.#options.ttl ?? TTL);
  }

  /** @internal Nothing may call it afterwards. */
  free(): void {
    this.#made.raw.free();
  }

  /** The same for what goes on when its caller is gone. */
  #forOthers(): Lock {
    return new Lock({ ...this.#made, maker: { ...this.#made.maker, signal: undefined } }, this.#options);
  }

  #lease(raw: RawLease, instance: Instance, unknownFor?: number): Lease {
    return Lease.of(this.name, this.#made.key, instance, raw, this.#made.maker, unknownFor);
  }

  /** What `take` makes of the outcome of `call`. */
  async #wait<Taken>(call: Call, options: CallOptions, take: (came: Came, of: Instance) => Taken): Promise<Taken> {
    const { key, raw, maker } = this.#made;
    const signals = [this.#options.signal, heeded(maker), signalOf(options)];
    const { instance, value: lock } = raw.get();
    const outcome = instance.drive(lock, call, maker, signals, key);
    return inBackground(outcome.then((came) => take(came, instance)), maker);
  }
}

function values({ sent, reads, found, writes, told, until, takes }: Guess): readonly Value[] {
  return [sent, toRaw(reads), found as readonly Value[], toRaw(writes), told, until, takes];
}
