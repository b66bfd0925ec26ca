// Lets one call through in a window, and tells the others when the next may go.
import { type CallOptions, signalOf } from "./abort.js";
import { inBackground } from "./going-on.js";
import { callOf, type Named } from "./instance.js";

/** Whether a call went through. */
export type ThrottleOutcome =
  | { readonly passed: true }
  | {
      readonly passed: false;
      /** The time left of the window of the call that passed, in whole milliseconds. */
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
  readonly #made: Named;

  private constructor(made: Named) {
    this.name = made.name;
    this.#made = made;
  }

  /** @internal */
  static of(made: Named): Throttle {
    return new Throttle(made);
  }

  /**
   * Goes through unless an earlier call's window still lasts; then it says when the next may. The
   * window of the call that passed counts, whatever the others ask for.
   *
   * A call that rejects did not go through. If its outcome is unknown, or the signal is aborted,
   * the client undoes in the background what Redis may have of the call.
   */
  async tryPass(options: CallOptions = {}): Promise<ThrottleOutcome> {
    const { value } = await inBackground(callOf(this.#made, "call", [signalOf(options)]), this.#made.host);
    const retryAfter = value as number | null;
    return retryAfter === null ? { passed: true } : { passed: false, retryAfter };
  }
}
