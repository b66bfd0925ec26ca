// What can go wrong, told apart by what the caller can do about it.
import { adviceOn } from "./advice.js";
import type { ErrorCode, Failure } from "./failure.js";

/** Of the failures of this side of the border, those whose calls may be made again. */
const RETRYABLE: readonly string[] = ["held", "busy", "unavailable"];

/**
 * A failure of edgelock. No message holds a token or a credential.
 *
 * Three cases that other clients mix up are different here: the lock is held by another
 * ({@link HeldError}), the lease is lost ({@link LostError}), and the outcome is unknown
 * ({@link EdgelockError.isOutcomeUnknown}).
 */
export class EdgelockError extends Error {
  override readonly name: string = "EdgelockError";
  /** A name for this kind of error. It does not change between versions. */
  declare readonly code: ErrorCode;
  /** Whether it may have been executed although the call failed: unknown is not "no". */
  declare readonly isOutcomeUnknown: boolean;
  /**
   * Whether the same call may be made again, with a chance: nothing was done, or what was done is
   * not done twice. Come back after `retryAfter` if the error has one. An `exec` or a `commit` of
   * unknown outcome is not retryable, whatever failed: read what it changes first.
   */
  declare readonly isRetryable: boolean;
  /** The Redis key of the lock, prefix included; `undefined` if the call was about none. */
  declare readonly lock: string | undefined;
  /** What the caller can do about it. An own property, so that logs show it. */
  declare readonly advice: string;

  /** @internal */
  constructor({ message, cause, reason, ...known }: Failure) {
    super(message, cause === undefined ? undefined : { cause });
    const { code, isOutcomeUnknown } = known;
    // What a class has besides, its failures have by that name.
    Object.assign(this, { isRetryable: RETRYABLE.includes(code) && !isOutcomeUnknown, ...known, advice: adviceOn(reason ?? code, isOutcomeUnknown) });
  }
}

/** @internal Not by `instanceof`: a program may have the package twice. */
export function isOurs(error: unknown): error is AnyEdgelockError {
  return typeof (error as Partial<EdgelockError> | null | undefined)?.isOutcomeUnknown === "boolean";
}

/** An argument is invalid: a name that is too long, a ttl out of range. Nothing was sent. */
export class InvalidArgumentError extends EdgelockError {
  override readonly name = "InvalidArgumentError";
  declare readonly code: "invalid_argument";
}

/** Another has the lock, and kept it for as long as this call waited. `lock` says which name. */
export class HeldError extends EdgelockError {
  override readonly name = "HeldError";
  declare readonly code: "held";
  /** The holder's time left unless it renews, in ms, rounded up; `null` if it has no expiry. */
  declare readonly remaining: number | null;
  /** How many waiters were ahead of this call when it last asked. */
  declare readonly ahead: number;
  /** What the holder set as its `label`; `null` if it has none. */
  declare readonly label: string | null;
  /** How long to stay away, in whole ms: an estimate of when it would be this call's turn. */
  declare readonly retryAfter: number;
  /** How many requests the call sent, including the one that leaves the queue. */
  declare readonly requests: number;
}

/**
 * So many servers of a quorum started recently, and may have lost the lock, that the others are no
 * majority. The call did not get the lock. Whether anybody holds it is not known.
 */
export class QuarantinedError extends EdgelockError {
  override readonly name = "QuarantinedError";
  declare readonly code: "quarantined";
  /** The least time until a majority may have a say again, in whole ms. */
  declare readonly retryAfter: number;
}

/**
 * Fewer replicas acknowledged in time than `waitForReplicas` asks for. An acquired lock was given
 * back. A lease goes on unchanged, unless a `commit` has released it, or `downgrade` has made it a
 * reader's. The commands of an `exec` or a `commit` were executed, but might not survive a
 * fail-over.
 */
export class NotReplicatedError extends EdgelockError {
  override readonly name = "NotReplicatedError";
  declare readonly code: "not_replicated";
  /** How many replicas had to acknowledge. */
  declare readonly asked: number;
  /** How many did. */
  declare readonly acknowledged: number;
}

/**
 * The result of work that is executed {@link Once} cannot be kept: it is larger than `maxBytes`
 * (`result_too_large`), or no JSON (`result_unreadable`). The work was done, and the next call does
 * it again. Or the kept result is no JSON; then nothing was executed.
 */
export class ResultError extends EdgelockError {
  override readonly name = "ResultError";
  declare readonly code: "result_too_large" | "result_unreadable";
  /** How many bytes it has, of one that is too large. */
  declare readonly bytes: number | null;
  /** How many it may have. */
  declare readonly most: number | null;
}

/**
 * Of {@link Client.reservations}: so many units are confirmed that too few are left (`sold_out`),
 * the owner would have too many (`owner_limit`), or the reservation was confirmed before
 * (`confirmed`). Nothing of the call was executed.
 */
export class ReservationError extends EdgelockError {
  override readonly name = "ReservationError";
  declare readonly code: "sold_out" | "owner_limit" | "confirmed";
}

/**
 * The lease is over although nobody gave it back: Redis no longer has it (`lost`), its deadline has
 * passed (`expired`), or its work was stopped after `maxHold` (`max_hold_exceeded`). Nothing of the
 * call was executed.
 */
export class LostError extends EdgelockError {
  override readonly name = "LostError";
  declare readonly code: "lost" | "expired" | "max_hold_exceeded";
}

/** Another write of the lease is under way, or it is already kept for work. Nothing was sent. */
export class BusyError extends EdgelockError {
  override readonly name = "BusyError";
  declare readonly code: "busy";
}

/** A command failed. The operation itself and all other commands were executed. */
export class CommandFailedError extends EdgelockError {
  override readonly name = "CommandFailedError";
  declare readonly code: "command_failed";
  /** Which of the given commands failed, from 0. */
  declare readonly index: number;
  /** Its name, without its arguments. */
  declare readonly command: string;
}

/** The bridge, or its Redis, is away or overloaded. If `fetch` failed, `cause` is its error. */
export class UnavailableError extends EdgelockError {
  override readonly name = "UnavailableError";
  declare readonly code: "unavailable";
  /** When the bridge wants to be asked again, in ms from the end of the call, if it said so. */
  declare readonly retryAfter: number | null;
}

/** No reply came within the request's time-out. It was aborted, but may have been executed. */
export class TimedOutError extends EdgelockError {
  override readonly name = "TimedOutError";
  declare readonly code: "timed_out";
}

/**
 * A fault in edgelock itself, or in a function that was passed to it; `cause` has it. Later calls
 * work. Or the host does not run WebAssembly: then nothing was sent, and `advice` says what it
 * lacks.
 */
export class InternalError extends EdgelockError {
  override readonly name = "InternalError";
  declare readonly code: "internal";

  /** @internal */
  constructor(message: string, cause: unknown, reason?: "no_wasm" | "no_text") {
    super({ code: "internal", message, isOutcomeUnknown: reason === undefined, cause, reason });
  }
}

/** Every failure of edgelock. Tell them apart by `code`. */
export type AnyEdgelockError =
  | InvalidArgumentError | HeldError | QuarantinedError | NotReplicatedError | ResultError | ReservationError
  | LostError | BusyError | CommandFailedError | UnavailableError | TimedOutError | InternalError | OtherError;

/**
 * A failure that only its `code` tells apart:
 *
 * - `entropy_unavailable`: the host gives no random bytes here, as a Worker outside of a request.
 *   Nothing was sent.
 * - `fingerprint_mismatch`: the key of work that is executed {@link Once} was used for something
 *   else. Nothing was executed.
 * - `released`: the lease was already released, committed or handed over. Or a release or a commit
 *   was sent and its outcome is unknown; then only these two may follow. Nothing was sent.
 * - `wrong_type`: a key of the lock holds something else than a lock of this kind keeps there.
 *   Nothing was changed, except by a commit whose own commands stored it: they were executed.
 * - `unauthorized`: the bridge or Redis does not accept the credential. `refused`: it refuses for
 *   another reason that lasts.
 * - The others: what answers is not a bridge, or something on the way spoils its responses. If the
 *   response broke off (`truncated`), `cause` says why.
 */
export type OtherError = EdgelockError & {
  readonly code: "entropy_unavailable" | "fingerprint_mismatch" | "released" | "wrong_type" | "unauthorized" | "refused" | "redirected" | "not_json" | "truncated" | "too_large" | "unexpected_reply";
};
