// How a lease is renewed and kept.
import type { CallOptions } from "./abort.js";

/** For how long a lease is renewed. */
export interface RenewOptions extends CallOptions {
  /**
   * Whole milliseconds from now: 4 ms to 366 days. Default: what the lease was acquired with. Over
   * several bridges at most the lock's ttl, or the client's `restartQuarantine` if longer.
   */
  readonly ttl?: number | undefined;
}

/** How a lease is kept. */
export interface RunOptions {
  /** For how many ms at most; `Infinity` has no end. Default 15 minutes, or the ttl if longer. */
  readonly maxHold?: number | undefined;
  /** Tells the work to stop: it aborts the lease's own signal. The lease is kept meanwhile. */
  readonly signal?: AbortSignal | undefined;
}

/** How a lease is kept beside work that is not in one function. */
export interface KeepAliveOptions extends Pick<RunOptions, "maxHold"> {
  /** Stops the renewals when it is aborted. Nothing is released then. */
  readonly signal?: AbortSignal | undefined;
}

/** Stops the renewals of {@link Lease.keepAlive}, as `using` does. Again it does nothing. */
export interface StopKeeping extends Disposable {
  (): void;
}
