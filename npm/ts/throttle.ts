// Lets one call through in a window, and tells the others when the next may go.
import { type CallOptions, signalOf } from "./abort.js";
import type { Host } from "./going-on.js";
import type { Revivable } from "./instance.js";
import type { Thing } from "./raw.js";

/** Whether a call went through. */
export type ThrottleOutcome =
  | { readonly passed: true }
  | {
      readonly passed: false;
      /** How long the window of the call that passed lasts yet, in whole milliseconds. */
      readonly retryAfter: number;
    };

/**
 * Lets the first call through, and no other until the window is over. Made by
 * {@link Client.throttle}.
 *
 * A cron job that fires in every region runs once. Each call costs one request. The window begins
 * when a call passes, by Redis's clock. It is not a lock: nobody holds it, and the work that
 * follows may outlast it.
 */
export class Throttle {
  /** The name that was asked for. */
  readonly name: string;
  /** Its key in Redis: what errors call it. */
  readonly #key: string;
  readonly #raw: Revivable<Thing>;
  readonly #host: Host;

  private constructor(name: string, key: string, raw: Revivable<Thing>, host: Host) {
    this.name = name;
    this.#key = key;
    this.#raw = raw;
    this.#host = host;
  }

  /** @internal */
  static of(name: string, key: string, raw: Revivable<Thing>, host: Host): Throttle {
    return new Throttle(name, key, raw, host);
  }

  /**
   * Goes through if no call did for as long as its window, or says when the next may. The window of
   * the call that passes counts, whatever the others ask for.
   *
   * A call that rejects did not go through. If the error `isOutcomeUnknown`, or the signal is
   * aborted, what Redis may have of the call is given back in the background.
   */
  async tryPass(options: CallOptions = {}): Promise<ThrottleOutcome> {
    const signal = signalOf(options);
    const { instance, value: throttle } = this.#raw.get();
    const { value } = await instance.drive(throttle, ["call"], this.#host, [signal], this.#key);
    const retryAfter = value as number | null;
    return retryAfter === null ? { passed: true } : { passed: false, retryAfter };
  }
}
