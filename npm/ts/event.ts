// What happens to a lock, for logs and metrics.
import type { AnyEdgelockError } from "./errors.js";
import { toError, withCause } from "./make-error.js";
import type { RawEvent } from "./raw.js";

/**
 * Something that happened to a lock. `lock` is its key. Durations are whole milliseconds by the
 * host's clock, rounded up.
 */
export type LockEvent = { readonly lock: string } & (
  | {
      /** Another holder has the lock, and this acquisition begins to wait. */
      readonly type: "contended";
      /** The holder's time left; `null` if the lock has no expiry. */
      readonly remaining: number | null;
      /** How many waiters are ahead of this one. */
      readonly ahead: number;
    }
  | {
      /** The lock was acquired. */
      readonly type: "acquired";
      /** From the call to the grant. */
      readonly waited: number;
      /** How many requests were sent for it. */
      readonly requests: number;
    }
  | {
      /**
       * A wait for the lock ended without it, or was given up. There was no `contended` before it
       * if the wait was over when the first answer came.
       */
      readonly type: "gave_up";
      /** From the call to its end. */
      readonly waited: number;
      /** How many requests were sent for it, including the one that leaves the queue. */
      readonly requests: number;
    }
  | {
      /**
       * The work was executed {@link Once} already. The acquisition got its result in place of the
       * lock.
       */
      readonly type: "replayed";
      /** From the call to the result. */
      readonly waited: number;
      /** How many requests were sent for it. */
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
      /** Since it was acquired or resumed. */
      readonly held: number;
    }
  | {
      /** The lock was given back. */
      readonly type: "released";
      /** Since it was acquired or resumed. */
      readonly held: number;
      /** How long the request took. */
      readonly took: number;
    }
  | {
      /**
       * A request got lost, servers of a quorum have no say yet, or a grant was over when it was
       * read. It is asked again after a pause.
       */
      readonly type: "retried";
      /** How it got lost, a `QuarantinedError`, or a `LostError` (`expired`). */
      readonly error: AnyEdgelockError;
      /** The time until it is asked again. */
      readonly pause: number;
    }
  | {
      /** A turn of a {@link GroupCommit} is over. */
      readonly type: "grouped";
      /** How many items were decided in it. */
      readonly items: number;
      /** How many items wait for the next turn. */
      readonly waiting: number;
      /** How long it took. */
      readonly took: number;
    }
);

/** An event as the module says it. Read it at once: later nobody knows what the host threw. */
export function eventOf(text: string): RawEvent {
  const event = JSON.parse(text) as RawEvent;
  return event.error ? { ...event, error: withCause(event.error) } : event;
}

export function toEvent(event: RawEvent): LockEvent {
  const { error, lock } = event;
  return (error ? { ...event, error: toError(lock === "" ? error : { ...error, lock }) } : event) as LockEvent;
}

/**
 * Calls it later, and ignores what it throws: a listener must not run inside of what it is told of.
 */
export function hear<Event>(event: Event, onEvent: (event: Event) => void): void {
  void Promise.resolve(event).then(onEvent).catch(() => {});
}
