// What to answer if the lock was not to be had: nothing was done, and this is when to come again.
import { HeldError, TimedOutError, UnavailableError } from "edgelock";

export function refusal(error: unknown): Response {
  if (error instanceof HeldError) return refused(409, "another request is at it", error.retryAfter);
  const isAway = error instanceof UnavailableError || error instanceof TimedOutError;
  if (isAway) return refused(503, "orders cannot be locked now", 5_000);
  // A lost lease, wrong settings, or an error of your own work: these are the framework's to log.
  throw error;
}

function refused(status: number, reason: string, retryAfterMs: number): Response {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new Response(reason, { status, headers: { "retry-after": `${seconds}` } });
}
