// What can go wrong, told apart by what the caller can do about it.
import { quoted } from "./quoted.js";

/** How an error leaves the wasm module. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly isOutcomeUnknown: boolean;
  readonly lock?: string;
  readonly remaining?: number | null;
  readonly ahead?: number;
  readonly label?: string | null;
  readonly retryAfter?: number | null;
  readonly requests?: number;
  readonly index?: number;
  readonly command?: string;
  /** What `fetch` failed with. */
  readonly cause?: unknown;
  readonly asked?: number;
  readonly acknowledged?: number;
  readonly bytes?: number;
  readonly most?: number;
}

/**
 * A failure of edgelock. No message holds a token or a credential.
 *
 * Three things that other clients mix up are different here: the lock is held by another
 * ({@link HeldError}), the lease is lost ({@link LostError}), and the outcome is unknown
 * ({@link EdgelockError.isOutcomeUnknown}).
 */
export abstract class EdgelockError extends Error {
  /** A name for this kind of error. It does not change between versions. */
  abstract readonly code: ErrorCode;
  /** Whether the operation may have been executed although the call failed: unknown is not "no". */
  readonly isOutcomeUnknown: boolean;
  /**
   * The Redis key of the lock that the failed call was about, with the client's prefix; `undefined`
   * if it was about no lock.
   */
  readonly lock: string | undefined;
  /**
   * What the caller can do about it, in a sentence or two. An own property, so that logs show it.
   */
  readonly advice: string;

  /** @internal */
  constructor(failure: Failure) {
    super(failure.message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.isOutcomeUnknown = failure.isOutcomeUnknown;
    this.lock = failure.lock;
    const advice = adviceOn(failure);
    this.advice = failure.isOutcomeUnknown ? `${MAY_HAVE_RUN} ${advice}` : advice;
  }
}

/**
 * An argument is invalid: a name that is empty or too long, a ttl out of range, a bad address.
 * Nothing was sent.
 */
export class InvalidArgumentError extends EdgelockError {
  override readonly name = "InvalidArgumentError";
  readonly code = "invalid_argument";
}

/** The host gives no random bytes here, as a Worker outside of a request. Nothing was sent. */
export class EntropyUnavailableError extends EdgelockError {
  override readonly name = "EntropyUnavailableError";
  readonly code = "entropy_unavailable";
}

/**
 * Another holder has the lock, and had it for as long as this call was willing to wait. Of several
 * names at once, `lock` says which one is held.
 */
export class HeldError extends EdgelockError {
  override readonly name = "HeldError";
  readonly code = "held";
  /**
   * The holder's time left unless it renews, in whole milliseconds, rounded up. `null` if the lock
   * has no expiry.
   */
  readonly remaining: number | null;
  /** How many waiters were ahead of this call when it last asked. */
  readonly ahead: number;
  /** What the holder set as its `label`; `null` if it has none. */
  readonly label: string | null;
  /**
   * How long to stay away, in whole milliseconds: an estimate of when it would be this call's turn.
   */
  readonly retryAfter: number;
  /** How many requests the call sent, including the one that leaves the queue. */
  readonly requests: number;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.remaining = failure.remaining ?? null;
    this.ahead = failure.ahead ?? 0;
    this.label = failure.label ?? null;
    this.retryAfter = failure.retryAfter ?? 0;
    this.requests = failure.requests ?? 0;
  }
}

/**
 * So many servers of a quorum were started recently that the others are no majority. Those servers
 * may have lost the lock, so they have no say for a while. Nobody was granted the lock; whether
 * anybody holds it, the servers cannot say.
 */
export class QuarantinedError extends EdgelockError {
  override readonly name = "QuarantinedError";
  readonly code = "quarantined";
  /** The least time until a majority may have a say again, in whole milliseconds. */
  readonly retryAfter: number;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.retryAfter = failure.retryAfter ?? 0;
  }
}

/**
 * Fewer replicas acknowledged in time than `waitForReplicas` asks for. An acquisition was given
 * back. A lease goes on unchanged, unless a `commit` has released it. The commands of an `exec` or
 * a `commit` were executed, but might not survive a fail-over.
 */
export class NotReplicatedError extends EdgelockError {
  override readonly name = "NotReplicatedError";
  readonly code = "not_replicated";
  /** How many replicas had to acknowledge. */
  readonly asked: number;
  /** How many did. */
  readonly acknowledged: number;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.asked = failure.asked ?? 0;
    this.acknowledged = failure.acknowledged ?? 0;
  }
}

/**
 * The key of work that is executed {@link Once} was used for something else: its fingerprint
 * differs. Nothing was executed.
 */
export class FingerprintMismatchError extends EdgelockError {
  override readonly name = "FingerprintMismatchError";
  readonly code = "fingerprint_mismatch";
}

/**
 * What work that is executed {@link Once} came to cannot be kept: it is larger than `maxBytes`
 * (`result_too_large`), or no JSON (`result_unreadable`). The work was done, and the next call does
 * it again. Or what is kept is no JSON; then nothing was executed.
 */
export class ResultError extends EdgelockError {
  override readonly name = "ResultError";
  readonly code: "result_too_large" | "result_unreadable";
  /** How many bytes it has, of one that is too large. */
  readonly bytes: number | null;
  /** How many it may have. */
  readonly most: number | null;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.code = failure.code as ResultError["code"];
    this.bytes = failure.bytes ?? null;
    this.most = failure.most ?? null;
  }
}

/**
 * The lease is over although nobody gave it back: Redis no longer has it (`lost`), its deadline has
 * passed (`expired`), or its work was stopped after `maxHold` (`max_hold_exceeded`). Nothing of the
 * call was executed.
 */
export class LostError extends EdgelockError {
  override readonly name = "LostError";
  readonly code: "lost" | "expired" | "max_hold_exceeded";

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.code = failure.code as LostError["code"];
  }
}

/**
 * The lease was already released, committed or handed over. Or a release or a commit was sent and
 * its outcome is unknown; then only these two may follow. Nothing was sent.
 */
export class ReleasedError extends EdgelockError {
  override readonly name = "ReleasedError";
  readonly code = "released";
}

/**
 * Another `exec`, `commit` or `release` of the same lease is still under way, or the lease is
 * already kept for other work. Nothing was sent.
 */
export class BusyError extends EdgelockError {
  override readonly name = "BusyError";
  readonly code = "busy";
}

/** A command failed. The operation itself and all other commands were executed. */
export class CommandFailedError extends EdgelockError {
  override readonly name = "CommandFailedError";
  readonly code = "command_failed";
  /** Which of the given commands failed, from 0. */
  readonly index: number;
  /** Its name, without its arguments. */
  readonly command: string;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.index = failure.index ?? 0;
    this.command = failure.command ?? "";
  }
}

/** The key holds something else than a lock of this kind. Nothing was changed. */
export class WrongTypeError extends EdgelockError {
  override readonly name = "WrongTypeError";
  readonly code = "wrong_type";
}

/**
 * The bridge or Redis does not accept the credential (`unauthorized`), or refuses for another
 * reason that lasts (`refused`).
 */
export class RefusedError extends EdgelockError {
  override readonly name = "RefusedError";
  readonly code: "unauthorized" | "refused";

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.code = failure.code as RefusedError["code"];
  }
}

/**
 * The bridge, or the Redis behind it, is away or overloaded. If `fetch` failed, `cause` is its
 * error.
 */
export class UnavailableError extends EdgelockError {
  override readonly name = "UnavailableError";
  readonly code = "unavailable";
  /**
   * When the bridge wants to be asked again, in whole milliseconds from the end of the call; `null`
   * if it did not say.
   */
  readonly retryAfter: number | null;

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.retryAfter = failure.retryAfter ?? null;
  }
}

/**
 * No reply came within the request's time-out. The request was aborted, but may have been executed.
 */
export class TimedOutError extends EdgelockError {
  override readonly name = "TimedOutError";
  readonly code = "timed_out";
}

/**
 * What answers is not a bridge, or something on the way spoils its responses. If the response broke
 * off, `cause` says why.
 */
export class BadResponseError extends EdgelockError {
  override readonly name = "BadResponseError";
  readonly code: "redirected" | "not_json" | "truncated" | "too_large" | "unexpected_reply";

  /** @internal */
  constructor(failure: Failure) {
    super(failure);
    this.code = failure.code as BadResponseError["code"];
  }
}

/**
 * A fault in edgelock itself, or in a function that was passed to it; `cause` has it. Later calls
 * work.
 */
export class InternalError extends EdgelockError {
  override readonly name = "InternalError";
  readonly code = "internal";

  /** @internal */
  constructor(message: string, cause: unknown) {
    super({ code: "internal", message, isOutcomeUnknown: true, cause });
  }
}

/** Every failure of edgelock. Tell them apart by `code`. */
export type AnyEdgelockError =
  | InvalidArgumentError
  | EntropyUnavailableError
  | HeldError
  | QuarantinedError
  | NotReplicatedError
  | FingerprintMismatchError
  | ResultError
  | LostError
  | ReleasedError
  | BusyError
  | CommandFailedError
  | WrongTypeError
  | RefusedError
  | UnavailableError
  | TimedOutError
  | BadResponseError
  | InternalError;

/** The codes of the errors. They do not change between versions. */
export type ErrorCode =
  | "invalid_argument"
  | "entropy_unavailable"
  | "held"
  | "quarantined"
  | "not_replicated"
  | "fingerprint_mismatch"
  | "result_too_large"
  | "result_unreadable"
  | "lost"
  | "expired"
  | "max_hold_exceeded"
  | "released"
  | "busy"
  | "command_failed"
  | "wrong_type"
  | "unauthorized"
  | "refused"
  | "unavailable"
  | "timed_out"
  | "redirected"
  | "not_json"
  | "truncated"
  | "too_large"
  | "unexpected_reply"
  | "internal";

const COME_AGAIN = "Try again later.";
const MAY_HAVE_RUN =
  "It may have been done: a lock that was taken frees itself after its ttl, and of writes, read what they change before you write again.";
const LOOK_AT_THE_ADDRESS = "Check that the address is that of a bridge, without a path unless it wants one, and what lies between.";

const ADVICE: Readonly<Record<ErrorCode, string>> = {
  invalid_argument: "Correct what the message names; the same call fails again.",
  entropy_unavailable: "Acquire inside a request handler; a client may be made outside.",
  held: "Come back after `retryAfter` milliseconds, or wait longer.",
  quarantined: "Come back after `retryAfter` milliseconds.",
  not_replicated: "Come back once the replicas have caught up, or ask for fewer.",
  fingerprint_mismatch: "Use another key for another request; the same call fails again.",
  result_too_large: "Keep less, as the id of what was made, or raise `maxBytes`.",
  result_unreadable: "Let the work return what JSON can hold, with neither a BigInt nor a circle. If another program or version stored what is kept, use another key.",
  lost: "Stop, and undo what was not written through the lease: another may hold the lock.",
  expired: "Stop, and undo what was not written through the lease: another may hold the lock. If it was just acquired, its ttl is too short: 10_000 is 10 s.",
  max_hold_exceeded: "Stop, and do less under one lease, or raise `maxHold`.",
  released: "Use a lease only until it is given back; acquire again.",
  busy: "Await one write of a lease before the next.",
  command_failed: "Look at the command with this `index`; the others were executed.",
  wrong_type: "Lock another name, or ask for the kind that is stored under this one; data belongs under `{name}:…`.",
  unauthorized: "Check the credential, and that it may run scripts.",
  refused: "Fix it on the bridge or Redis; asking again does not help.",
  unavailable: "Try again later; if that does not help, see that the bridge and its Redis run, and that the address is right.",
  timed_out: COME_AGAIN,
  redirected: "Use the address that the bridge redirects to.",
  not_json: LOOK_AT_THE_ADDRESS,
  truncated: COME_AGAIN,
  too_large: "Read less at once; or, if nothing was read, check that the address is that of a bridge.",
  unexpected_reply: LOOK_AT_THE_ADDRESS,
  internal: "Please report it, with its `cause`.",
};

/** What Redis or a bridge says, of which more is known than by its code. */
const KNOWN: ReadonlyArray<readonly [code: ErrorCode, said: RegExp, advice: string]> = [
  ["invalid_argument", /the environment/, "They are the address and the credential of one bridge. Upstash's console shows its two under REST; `cargo xtask dev` prints those of its bridge; whoever runs edgelock-bridge chose them. A Worker has them in the `env` of its handler. Deno needs --allow-env."],
  ["unauthorized", /NOPERM.* keys?\b/, "Let the bridge's user of Redis use these keys (`ACL SETUSER … ~pattern`): the lock's name, what begins with it in braces, and those of your commands."],
  ["unauthorized", /NOPERM.* command/, "Let the bridge's user of Redis run this command (`ACL SETUSER … +command`)."],
  ["held", /never expires/, "It is no lock of edgelock, which always expires: if data is stored under the lock's name, lock another name; if not, `forceRelease()` it."],
  ["refused", /status 404/, LOOK_AT_THE_ADDRESS],
  ["unavailable", /NOAUTH|password/, "Give the bridge the password of its Redis; its log says more."],
  ["refused", /unknown command|body must be/, "Look at the path of the address, which the bridge takes for a command: most bridges want none."],
];

function adviceOn({ code, message }: Failure): string {
  const known = KNOWN.find(([of, said]) => of === code && said.test(message));
  return known ? known[2] : ADVICE[code as ErrorCode];
}

/** The error that a failure stands for. */
export function toError(failure: Failure): AnyEdgelockError {
  switch (failure.code) {
    case "invalid_argument":
      return new InvalidArgumentError(failure);
    case "entropy_unavailable":
      return new EntropyUnavailableError(failure);
    case "held":
      return new HeldError(failure);
    case "quarantined":
      return new QuarantinedError(failure);
    case "not_replicated":
      return new NotReplicatedError(failure);
    case "fingerprint_mismatch":
      return new FingerprintMismatchError(failure);
    case "result_too_large":
    case "result_unreadable":
      return new ResultError(failure);
    case "lost":
    case "expired":
    case "max_hold_exceeded":
      return new LostError(failure);
    case "released":
      return new ReleasedError(failure);
    case "busy":
      return new BusyError(failure);
    case "command_failed":
      return new CommandFailedError(failure);
    case "wrong_type":
      return new WrongTypeError(failure);
    case "unauthorized":
    case "refused":
      return new RefusedError(failure);
    case "unavailable":
      return new UnavailableError(failure);
    case "timed_out":
      return new TimedOutError(failure);
    case "redirected":
    case "not_json":
    case "truncated":
    case "too_large":
    case "unexpected_reply":
      return new BadResponseError(failure);
    default:
      return new InternalError(failure.message, failure);
  }
}

export function invalidArgument(message: string): InvalidArgumentError {
  return new InvalidArgumentError({ code: "invalid_argument", message: `invalid argument: ${message}`, isOutcomeUnknown: false });
}

export function released(lock: string): ReleasedError {
  return new ReleasedError({ code: "released", message: `the lease of lock ${quoted(lock)} was already released`, isOutcomeUnknown: false, lock });
}

export function busy(lock: string): BusyError {
  return new BusyError({ code: "busy", message: `another write of the lease of lock ${quoted(lock)} is still under way`, isOutcomeUnknown: false, lock });
}

export function expired(lock: string): LostError {
  return new LostError({ code: "expired", message: `the lease of lock ${quoted(lock)} is past its deadline`, isOutcomeUnknown: false, lock });
}

export function resultUnreadable(lock: string, message: string, cause: unknown): ResultError {
  return new ResultError({ code: "result_unreadable", message: `the result of ${quoted(lock)}: ${message}`, isOutcomeUnknown: false, lock, cause });
}

/**
 * Too many callers of the same process are ahead, or for longer than the caller is willing to wait.
 */
export function heldBehind(lock: string, ahead: number, ttl: number, wait: number): HeldError {
  const message = `lock ${quoted(lock)} is waited for by ${ahead} other callers of this process`;
  return new HeldError({ code: "held", message, isOutcomeUnknown: false, lock, remaining: ttl, ahead, requests: 0, retryAfter: Math.ceil(Math.min(ttl, wait)) });
}

export function unavailable(message: string, isOutcomeUnknown: boolean, lock: string | undefined, cause?: unknown): UnavailableError {
  const about = lock === undefined ? {} : { lock };
  return new UnavailableError({ code: "unavailable", message: `unavailable: ${message}`, isOutcomeUnknown, cause, ...about });
}

/** `error` of one of several commands, as whoever gave the one with this index sees it. */
export function indexed(error: CommandFailedError, index: number): CommandFailedError {
  const { message, isOutcomeUnknown, lock, command } = error;
  const own = message.replace(/^command \d+/, `command ${index}`);
  return new CommandFailedError({ code: "command_failed", message: own, isOutcomeUnknown, index, command, ...(lock === undefined ? {} : { lock }) });
}
