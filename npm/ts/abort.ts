// Signals that end a call.
import { abortSignal, type Names, options } from "./check.js";

/** What one call is told besides. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason, and its request is aborted. A call that waits gives up as {@link LockOptions.signal}
   * says, and ends by whichever of the two is aborted first. Of a write it is not known then whether it was done; of a release or a commit
   * neither, and only these may follow.
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
 * Has `listener` called when one of these is aborted; ends that by what it returns. Not by `AbortSignal.any`, which some hosts lack: who
 * listens by hand can also stop listening to a signal that outlives the call.
 */
export function onAbort(signals: Signals, listener: () => void): () => void {
  for (const signal of signals) signal?.addEventListener("abort", listener, { once: true });
  return () => signals.forEach((signal) => signal?.removeEventListener("abort", listener));
}
