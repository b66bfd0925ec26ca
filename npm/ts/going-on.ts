// Work that goes on though its caller is gone, since others get what comes of it.
import { onAbort } from "./abort.js";
import type { Host } from "./driver.js";

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

/** The signal that ends what begins now when the caller is gone. */
export function heeded({ goingOn, signal }: Host): AbortSignal | undefined {
  return goingOn.isOn ? undefined : signal;
}
