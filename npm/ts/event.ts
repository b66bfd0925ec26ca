// What happens to a lock, for logs and metrics.
import type { AnyEdgelockError } from "./errors.js";
import { toError, withCause } from "./make-error.js";
import type { RawEvent } from "./raw.js";

/**
 * Something that happened to the lock with this key. Durations are whole milliseconds by the host's
 * clock, rounded up.
 *
 * - `contended`: another has it, and this acquisition begins to wait behind so many `ahead`.
 *   `remaining` is the holder's time left; `null` if the lock has no expiry.
 * - `acquired`: from the call to the grant it `waited` so long, and sent so many requests.
 * - `gave_up`: a wait ended without it, or was given up; `requests` has the one that leaves the
 *   queue. There was no `contended` before it if the wait was over when the first answer came.
 * - `replayed`: work was executed {@link Once} already. Its result came in place of the lock.
 * - `renewed`: the lease has its full ttl again, by a request that `took` so long.
 * - `lost`: the lease is over although nobody gave it back, so long after it was acquired or
 *   resumed.
 * - `released`: the lock was given back.
 * - `retried`: a request got lost, servers of a quorum have no say yet (`QuarantinedError`), or a
 *   grant was over when it was read (`LostError`). It is asked again after the `pause`.
 * - `grouped`: a turn of a {@link GroupCommit} is over. It decided so many `items`, and so many are
 *   `waiting` for the next.
 */
export type LockEvent = { readonly lock: string } & (
  | { readonly type: "contended"; readonly remaining: number | null; readonly ahead: number }
  | { readonly type: "acquired"; readonly waited: number; readonly requests: number }
  | { readonly type: "gave_up"; readonly waited: number; readonly requests: number }
  | { readonly type: "replayed"; readonly waited: number; readonly requests: number }
  | { readonly type: "renewed"; readonly took: number }
  | { readonly type: "lost"; readonly held: number }
  | { readonly type: "released"; readonly held: number; readonly took: number }
  | { readonly type: "retried"; readonly error: AnyEdgelockError; readonly pause: number }
  | { readonly type: "grouped"; readonly items: number; readonly waiting: number; readonly took: number }
);

/** An event as the module says it. Read it at once: later nobody knows what the host threw. */
function eventOf(text: string): RawEvent {
  const event = JSON.parse(text) as RawEvent;
  return event.error ? { ...event, error: withCause(event.error) } : event;
}

function toEvent(event: RawEvent): LockEvent {
  const { error, lock } = event;
  return (error ? { ...event, error: toError(lock === "" ? error : { ...error, lock }) } : event) as LockEvent;
}

/**
 * What the module tells events. It keeps no listener: one that refers to its own client would keep
 * that, and the module would keep the listener for as long. A call under way keeps both.
 */
export function faintly(onEvent: (event: LockEvent) => void): (text: string) => void {
  return typeof WeakRef === "undefined" ? (text) => tell(text, onEvent) : tellIfThere(new WeakRef(onEvent));
}

/** Apart, since a function keeps all that any function beside it refers to. */
function tellIfThere(onEvent: WeakRef<(event: LockEvent) => void>): (text: string) => void {
  return (text) => {
    const heard = onEvent.deref();
    if (heard) tell(text, heard);
  };
}

const tell = (text: string, onEvent: (event: LockEvent) => void): void => hear(eventOf(text), (event) => onEvent(toEvent(event)));

/**
 * Calls it later, and ignores what it throws: a listener must not run inside of what it is told of.
 */
export function hear<Event>(event: Event, onEvent: (event: Event) => void): void {
  void Promise.resolve(event).then(onEvent).catch(() => {});
}
