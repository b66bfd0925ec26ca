// Signals that end a call.
import { abortSignal, type Names, options } from "./check.js";
import { aborted } from "./make-error.js";

/** Options of a single call. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason, and its request is aborted. A call that
   * waits gives up as {@link LockOptions.signal} says. An aborted write has an unknown outcome.
   * Behind an aborted release or commit, only these two may follow. If the reason is an error of
   * edgelock that is wrong about this call, as that of a lease's signal, the call throws an
   * `UnavailableError` with that `cause`; `isOutcomeUnknown` tells whether this call was sent.
   */
  readonly signal?: AbortSignal | undefined;
}

const CALL: Names<CallOptions> = { signal: 1 };

export type Signals = ReadonlyArray<AbortSignal | undefined>;

/** The signal of a call that has no other options. */
export const signalOf = (call: CallOptions): AbortSignal | undefined => abortSignal(options(call, CALL, "a call").signal, "signal");

/** For a call of which nothing was sent yet. */
export function throwIfAborted(signals: Signals, lock?: string): void {
  const early = signals.find((signal) => signal?.aborted);
  if (early) throw aborted(early.reason, false, lock);
}

/** Who is told that a signal is aborted. Node takes over ten listeners of a signal for a leak. */
const told = new WeakMap<AbortSignal, Set<() => void>>();

function tellAll(this: AbortSignal): void {
  for (const listener of told.get(this) ?? []) listener();
}

/**
 * Has `listener` called when one of these is aborted, until the returned function is called. Some
 * hosts lack `AbortSignal.any`, which also cannot stop listening to a signal that outlives a call.
 */
export function onAbort(signals: Signals, listener: () => void): () => void {
  const own = () => listener();
  const heard = signals.filter((signal) => signal !== undefined);
  for (const signal of heard) {
    const listeners = told.get(signal) ?? new Set();
    if (listeners.size === 0) signal.addEventListener("abort", tellAll, { once: true });
    told.set(signal, listeners.add(own));
  }
  return () => {
    for (const signal of heard) {
      const listeners = told.get(signal);
      if (listeners?.delete(own) && listeners.size === 0) signal.removeEventListener("abort", tellAll);
    }
  };
}
