// What happens to a lock, for logs and metrics.
import { type AnyEdgelockError, toError } from "./errors.js";
import type { RawEvent } from "./raw.js";

/** Something that happened to a lock; `lock` is its key. Durations are whole milliseconds by the host's clock, rounded up. */
export type LockEvent = { readonly lock: string } & (
  | {
      /** Another holds the lock, and this acquisition begins to wait. */
      readonly type: "contended";
      /** What the holder has left; `null` without end. */
      readonly remaining: number | null;
      /** How many wait before this one. */
      readonly ahead: number;
    }
  | {
      /** The lock was taken. */
      readonly type: "acquired";
      /** From the call to the grant. */
      readonly waited: number;
      /** How many requests were sent for it. */
      readonly requests: number;
    }
  | {
      /** A wait for the lock ended in vain, or was given up. */
      readonly type: "gave_up";
      /** From the call to its end. */
      readonly waited: number;
      /** How many requests were sent for it, with the one that leaves the queue. */
      readonly requests: number;
    }
  | {
      /** The lease has its full ttl again. */
      readonly type: "renewed";
      /** How long the request took. */
      readonly took: number;
    }
  | {
      /** The lease is over although nobody gave it back. */
      readonly type: "lost";
      /** Since it was acquired, or resumed. */
      readonly held: number;
    }
  | {
      /** The lock was given back. */
      readonly type: "released";
      /** Since it was acquired, or resumed. */
      readonly held: number;
      /** How long the request took. */
      readonly took: number;
    }
  | {
      /** A request got lost, or servers of a quorum have no say yet, and it is sent again after a pause. */
      readonly type: "retried";
      /** How it got lost, or a `QuarantinedError`. */
      readonly error: AnyEdgelockError;
      /** Until it is sent again. */
      readonly pause: number;
    }
  | {
      /** A turn of a {@link GroupCommit} is over. */
      readonly type: "grouped";
      /** How many items were decided in it. */
      readonly items: number;
      /** How many others wait for the next. */
      readonly waiting: number;
      /** How long it took. */
      readonly took: number;
    }
);

export function toEvent(event: RawEvent): LockEvent {
  const { error, lock } = event;
  return (error ? { ...event, error: toError(lock === "" ? error : { ...error, lock }) } : event) as LockEvent;
}
