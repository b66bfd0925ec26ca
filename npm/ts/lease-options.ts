// How a lease is renewed and kept.
import type { CallOptions } from "./abort.js";

/** For how long a lease is renewed. */
export interface RenewOptions extends CallOptions {
  /**
   * Milliseconds from now: 4 ms to 366 days, whole ones. Default: the ttl that the lease was
   * acquired with. Over several bridges it is at most the lock's ttl, or the client's
   * `restartQuarantine` if longer.
   */
  readonly ttl?: number | undefined;
}

/** How a lease is kept. */
export interface RunOptions {
  /**
   * For how many whole milliseconds at most. `Infinity` means no limit. Default 15 minutes, or the
   * ttl if that is longer.
   */
  readonly maxHold?: number | undefined;
  /**
   * Tells the work to stop: the lease's own signal is aborted with the same reason. The lease is
   * kept meanwhile.
   */
  readonly signal?: AbortSignal | undefined;
}

/** How a lease is kept beside work that is not in one function. */
export interface KeepAliveOptions extends Pick<RunOptions, "maxHold"> {
  /** Stops the renewals when it is aborted. Nothing is released then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Stops the renewals of {@link Lease.keepAlive}; `using` does so at the end of its block. Calling
 * it again does nothing.
 */
export interface StopKeeping extends Disposable {
  (): void;
}
