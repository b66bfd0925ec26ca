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

export function invalidArgument(message: string, reason?: Reason): InvalidArgumentError {
  return new InvalidArgumentError({ code: "invalid_argument", message: `invalid argument: ${message}`, isOutcomeUnknown: false, reason });
}

export function released(lock: string): EdgelockError {
  return new EdgelockError({ code: "released", message: `the lease of lock ${quoted(lock)} was already released`, isOutcomeUnknown: false, lock });
}

export function busy(lock: string): BusyError {
  return new BusyError({ code: "busy", message: `another write of the lease of lock ${quoted(lock)} is still under way`, isOutcomeUnknown: false, lock });
}

export function expired(lock: string): LostError {
  return new LostError({ code: "expired", message: `the lease of lock ${quoted(lock)} is past its deadline`, isOutcomeUnknown: false, lock });
}

export function resultUnreadable(lock: string, message: string, cause: unknown): ResultError {
  return new ResultError({ code: "result_unreadable", message: `the result of ${quoted(lock)}: ${message}`, isOutcomeUnknown: false, lock, cause, bytes: null, most: null });
}

export function resultTooLarge(lock: string, bytes: number, most: number): ResultError {
  return new ResultError({ code: "result_too_large", message: `the result of ${quoted(lock)} has ${bytes} bytes, and may have ${most}: the work was done, and it is not kept`, isOutcomeUnknown: false, lock, bytes, most });
}

/** Even a caller that does not wait should not come again at once. In milliseconds. */
const SHORTEST = 100;

/**
 * Too many callers of the same process are ahead, or for longer than the caller is willing to wait.
 */
export function heldBehind(lock: string, ahead: number, ttl: number, wait: number): HeldError {
  const message = `lock ${quoted(lock)} is waited for by ${ahead} other callers of this process`;
  const retryAfter = Math.ceil(Math.min(ttl, Math.max(wait, SHORTEST)));
  return new HeldError({ code: "held", message, isOutcomeUnknown: false, lock, remaining: ttl, ahead, label: null, requests: 0, retryAfter });
}

export function unavailable(message: string, isOutcomeUnknown: boolean, lock: string | undefined, cause?: unknown): UnavailableError {
  return new UnavailableError({ code: "unavailable", message: `unavailable: ${message}`, isOutcomeUnknown, lock, cause, retryAfter: null });
}

export function refused(message: string, isOutcomeUnknown: boolean, lock: string | undefined, cause?: unknown): EdgelockError {
  return new EdgelockError({ code: "refused", message: `refused: ${message}`, isOutcomeUnknown, lock, cause });
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
  return new CommandFailedError({ code: "command_failed", message, isOutcomeUnknown: false, index, command, lock });
}
