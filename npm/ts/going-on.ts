// What a host gives a call to be driven with, and what goes on though its caller is gone.
import { onAbort } from "./abort.js";

/** Such work of one client. */
export class GoingOn {
  #count = 0;
  readonly #watchers = new Set<() => void>();

  get isOn(): boolean {
    return this.#count > 0;
  }

  /** Does such work. Until its end, nothing of the client's ends because the caller is gone. */
  async during<T>(work: () => T | PromiseLike<T>): Promise<T> {
    this.#count++;
    try {
      return await work();
    } finally {
      this.#count--;
      for (const look of [...this.#watchers]) look();
    }
  }

  /**
   * Calls `listener` once `signal` says that the caller is gone and no such work goes on, unless
   * the returned function is called before.
   */
  onceGone(signal: AbortSignal, listener: () => void): () => void {
    const look = () => {
      if (!signal.aborted || this.isOn) return;
      stop();
      listener();
    };
    const deafen = onAbort([signal], look);
    const stop = () => {
      deafen();
      this.#watchers.delete(look);
    };
    this.#watchers.add(look);
    look();
    return stop;
  }
}

/** What a client's operations are driven with. */
export interface Host {
  /** In place of the host's own `fetch`. */
  readonly fetch?: ((url: string, init: never) => unknown) | undefined;
  /** Has what is under way outlive its caller. */
  readonly waitUntil?: ((promise: Promise<unknown>) => void) | undefined;
  /** Aborted when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
  /** What does not end then. */
  readonly goingOn: GoingOn;
  readonly requestTimeout: number;
}

/** The signal that ends what begins now when the caller is gone. */
export const heeded = ({ goingOn, signal }: Host): AbortSignal | undefined => (goingOn.isOn ? undefined : signal);

/**
 * It goes on though its caller is gone, and though nobody waits for it. A host may stop all else as
 * soon as this is settled: what is to go on behind it must be in the background by then.
 */
export function inBackground<T>(outcome: Promise<T>, host: Host): Promise<T> {
  const quiet = outcome.catch(() => {});
  try {
    host.waitUntil?.(quiet);
  } catch {
    // Then it goes on as without it.
  }
  return outcome;
}
