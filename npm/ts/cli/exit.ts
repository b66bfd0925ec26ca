// What the exit codes say. Those from 64 to 77 are of sysexits.h.
import { EdgelockError, type ErrorCode, HeldError } from "edgelock";
import { constants } from "node:os";

export const OK = 0;
/** The answer to the question was no, or a check of `doctor` failed. */
export const NO = 1;
export const USAGE = 64;
export const UNAVAILABLE = 69;
export const INTERNAL = 70;
export const NOT_WRITTEN = 74;
export const HELD = 75;
export const DENIED = 77;
/** Of nobody else: the lease was lost while the command ran. */
export const LOST = 79;
/** As shells have it. */
export const NOT_EXECUTABLE = 126;
export const NOT_FOUND = 127;

export const ofSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];

/** What is wrong with the arguments, or with the terminal that they are given on. */
export class UsageError extends Error {}

/** The program was told to end before the command began. */
export class Interrupted extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
  }
}

const OF_AWAY: readonly ErrorCode[] = ["refused", "unavailable", "timed_out", "redirected", "not_json", "truncated", "too_large", "unexpected_reply"];
const OF_ERRORS: Partial<Record<ErrorCode, number>> = {
  ...Object.fromEntries(OF_AWAY.map((code) => [code, UNAVAILABLE])),
  invalid_argument: USAGE,
  wrong_type: USAGE,
  held: HELD,
  unauthorized: DENIED,
  lost: LOST,
  expired: LOST,
};

/** The exit code of what was thrown. */
export function exitCode(error: unknown): number {
  if (error instanceof UsageError) return USAGE;
  if (error instanceof Interrupted) return ofSignal(error.signal);
  return (error instanceof EdgelockError && OF_ERRORS[error.code]) || INTERNAL;
}

/** What was thrown, for a reader, with what to do. */
export function explained(error: unknown): string {
  if (error instanceof EdgelockError) return `${error.message}\n  ${adviceOn(error)}`;
  return error instanceof Error ? error.message : String(error);
}

/** The library speaks of its own options. */
function adviceOn(error: EdgelockError): string {
  if (error.code === "wrong_type") return "Another kind of lock has that name, or data: use another name.";
  if (!(error instanceof HeldError)) return error.advice;
  return error.remaining === null ? "Use another name. If it is no data: edgelock release NAME --endless." : "Try again later, or wait for it: --wait 5m.";
}

/** Tells the user something that is not what the program was asked for. */
export function say(message: string): void {
  process.stderr.write(`edgelock: ${message}\n`);
}
