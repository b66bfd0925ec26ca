// Signals that end a call.
import { abortSignal, type Names, options } from "./check.js";

/** Options of a single call. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason, and its request is aborted. A call that
   * waits gives up as {@link LockOptions.signal} says; whichever of the two signals is aborted
   * first ends it. After an aborted write, its outcome is unknown. After an aborted release or
   * commit it is too, and only these two may follow.
   */
  readonly signal?: AbortSignal | undefined;
}

const CALL: Names<CallOptions> = { signal: 1 };

export type Signals = ReadonlyArray<AbortSignal | undefined>;

/** The signal of a call that has no other options. */
export function signalOf(call: CallOptions, what: string): AbortSignal | undefined {
  return abortSignal(options(call, CALL, what).signal, "signal");
}

export function throwIfAborted(signals: Signals): void {
  const early = signals.find((signal) => signal?.aborted);
  if (early) throw early.reason;
}

/**
 * Has `listener` called when one of these is aborted, until the returned function is called. It
 * does not use `AbortSignal.any`, which some hosts lack. Listening by hand can also stop listening
 * to a signal that outlives the call.
 */
export function onAbort(signals: Signals, listener: () => void): () => void {
  for (const signal of signals) signal?.addEventListener("abort", listener, { once: true });
  return () => signals.forEach((signal) => signal?.removeEventListener("abort", listener));
}
