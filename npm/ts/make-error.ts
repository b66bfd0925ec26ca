// The errors that are thrown, made of failures of the wasm module or of this side of it.
import {
  type AnyEdgelockError,
  BadResponseError,
  BusyError,
  CommandFailedError,
  EntropyUnavailableError,
  FingerprintMismatchError,
  HeldError,
  InternalError,
  InvalidArgumentError,
  LostError,
  NotReplicatedError,
  QuarantinedError,
  RefusedError,
  ReleasedError,
  ResultError,
  TimedOutError,
  UnavailableError,
  WrongTypeError,
} from "./errors.js";
import type { Failure, Reason } from "./failure.js";
import { inOneLine, quoted } from "./quoted.js";
import { reason } from "edgelock-exchange";

/** The error that a failure stands for. */
export function toError(told: Failure): AnyEdgelockError {
  const failure = withOwnCause(told);
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
  const more = reason === undefined ? {} : { reason };
  return new InvalidArgumentError({ code: "invalid_argument", message: `invalid argument: ${message}`, isOutcomeUnknown: false, ...more });
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
