// The errors that are thrown, made of failures of the wasm module or of this side of it.
import { type AnyEdgelockError, BusyError, CommandFailedError, EdgelockError, HeldError, InternalError, InvalidArgumentError, isOurs, LostError, NotReplicatedError, QuarantinedError, ReservationError, ResultError, TimedOutError, UnavailableError } from "./errors.js";
import type { ErrorCode, Failure, Reason } from "./failure.js";
import { inOneLine, quoted } from "./quoted.js";
import { reason } from "edgelock-exchange";

/** What the host's `fetch` threw, while the module is told of that: it knows only the message. */
let thrown: unknown;

export function withThrown<T>(error: unknown, call: () => T): T {
  thrown = error;
  try {
    return call();
  } finally {
    thrown = undefined;
  }
}

/** A failure as the module says it, with what was thrown if that may be its cause. */
export function withCause({ isThrown, ...failure }: Failure & { readonly isThrown?: boolean }): Failure {
  return isThrown ? { ...failure, cause: thrown } : failure;
}

/** The classes of the codes that have one. */
const CLASSES: Partial<Record<ErrorCode, new (failure: Failure) => EdgelockError>> = {
  invalid_argument: InvalidArgumentError,
  held: HeldError,
  quarantined: QuarantinedError,
  not_replicated: NotReplicatedError,
  result_too_large: ResultError,
  result_unreadable: ResultError,
  sold_out: ReservationError,
  owner_limit: ReservationError,
  confirmed: ReservationError,
  lost: LostError,
  expired: LostError,
  max_hold_exceeded: LostError,
  busy: BusyError,
  command_failed: CommandFailedError,
  unavailable: UnavailableError,
  timed_out: TimedOutError,
};

/** The error that a failure stands for. */
export function toError(told: Failure): AnyEdgelockError {
  const failure = withOwnCause(told);
  if (failure.code === "internal") return new InternalError(failure.message, failure);
  const lacksCrypto = failure.code === "entropy_unavailable" && globalThis.crypto === undefined;
  return new (CLASSES[failure.code] ?? EdgelockError)(lacksCrypto ? { ...failure, ...NO_CRYPTO } : failure) as AnyEdgelockError;
}

/** Of Node 18, and of what is older. */
const NO_CRYPTO = { message: "this host has no Web Crypto (globalThis.crypto), which gives the random bytes", reason: "no_crypto" } as const;

/**
 * Without its `cause`, if that is of another request than its message: a call tells how a request
 * got lost that may have been executed, and not how the last one did.
 */
function withOwnCause(failure: Failure): Failure {
  const { cause, ...others } = failure;
  // Messages are cut short.
  return cause === undefined || failure.message.includes(inOneLine(reason(cause)).slice(0, 64)) ? failure : others;
}

/** A failure of this side of the border, whose outcome is known. */
const known = (code: ErrorCode, message: string, lock?: string, details: object = {}): Failure => ({ code, message, isOutcomeUnknown: false, lock, ...details });

export const invalidArgument = (message: string, reason?: Reason) => new InvalidArgumentError(known("invalid_argument", `invalid argument: ${message}`, undefined, { reason }));
export const released = (lock: string) => new EdgelockError(known("released", `the lease of lock ${quoted(lock)} was already released`, lock));
export const busy = (lock: string) => new BusyError(known("busy", `another write of the lease of lock ${quoted(lock)} is under way, or it is kept for other work`, lock));
export const expired = (lock: string) => new LostError(known("expired", `the lease of lock ${quoted(lock)} is past its deadline`, lock));
export const resultUnreadable = (lock: string, message: string, cause: unknown) => new ResultError(known("result_unreadable", `the result of ${quoted(lock)}: ${message}`, lock, { cause, bytes: null, most: null }));

export function resultTooLarge(lock: string, bytes: number, most: number): ResultError {
  const message = `the result of ${quoted(lock)} has ${bytes} bytes, and may have ${most}: the work was done, and it is not kept`;
  return new ResultError(known("result_too_large", message, lock, { bytes, most }));
}

/** Even a caller that does not wait should not come again at once. In milliseconds. */
const SHORTEST = 100;

/** Too many callers of the same process are ahead, or for longer than the caller waits. */
export function heldBehind(lock: string, ahead: number, ttl: number, wait: number): HeldError {
  const retryAfter = Math.ceil(Math.min(ttl, Math.max(wait, SHORTEST)));
  const message = `lock ${quoted(lock)} is waited for by ${ahead} other callers of this process`;
  return new HeldError(known("held", message, lock, { remaining: ttl, ahead, label: null, requests: 0, retryAfter }));
}

export function unavailable(message: string, isOutcomeUnknown: boolean, lock: string | undefined, cause?: unknown): UnavailableError {
  return new UnavailableError(known("unavailable", `unavailable: ${message}`, lock, { isOutcomeUnknown, cause, retryAfter: null }));
}

export function refused(message: string, isOutcomeUnknown: boolean, lock: string | undefined, cause?: unknown): EdgelockError {
  return new EdgelockError(known("refused", `refused: ${message}`, lock, { isOutcomeUnknown, cause }));
}

/**
 * What is thrown by a call that a signal ended. The reason is thrown as it is, unless it is an
 * error of ours that is wrong about this call: that of a lease's signal says how the lease ended,
 * and not whether this call was executed.
 */
export function aborted(reason: unknown, wasSent: boolean, lock: string | undefined): unknown {
  if (!isOurs(reason) || reason.isOutcomeUnknown === wasSent) return reason;
  return unavailable(`the call was aborted ${wasSent ? "after" : "before"} it was sent: ${reason.message}`, wasSent, lock, reason);
}

/** One command of several failed, with what Redis said. */
export function commandFailed(index: number, command: string, said: string, lock: string): CommandFailedError {
  const message = `command ${index}, ${quoted(command)}, failed under lock ${quoted(lock)}: ${said}`;
  return new CommandFailedError(known("command_failed", message, lock, { index, command }));
}
