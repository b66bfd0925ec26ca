// Calls that come too often: the first of them goes through, or the last.
import type { CallOptions } from "./abort.js";
import { work as checkWork } from "./check.js";
import { inBackground } from "./going-on.js";
import { callOf, type Named } from "./instance.js";

/** Whether a call went through; if not, how long the window lasts yet, in whole milliseconds. */
export type ThrottleOutcome =
  | { readonly passed: true }
  | { readonly passed: false; readonly retryAfter: number };

/**
 * Lets the first call through, and no other until the window is over. Made by
 * {@link Client.throttle}.
 *
 * A cron job that fires in every region runs once. Each call costs one request. The window begins
 * when a call passes, by Redis's clock. It is not a lock: the work that follows may outlast it.
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
   * Goes through unless an earlier call's window still lasts, whatever this one asks for; then it
   * says when the next may. A call that rejects did not go through: if Redis may have it, the
   * client undoes that in the background.
   */
  async tryPass(options: CallOptions = {}): Promise<ThrottleOutcome> {
    const { value } = await callOf(this.#made, "call", options);
    const retryAfter = value as number | null;
    return retryAfter === null ? { passed: true } : { passed: false, retryAfter };
  }
}

/** How calls are debounced. */
export interface DebounceOptions {
  /**
   * How many whole milliseconds a call waits at most, however many come after it: from the wait to
   * 24 hours. Default ten times the wait. The first call's bound counts for the whole burst, unless
   * a later call's is over before.
   */
  readonly maxWait?: number | undefined;
}

/** Whether another call came after it, so that its own work was not begun. */
export type DebounceOutcome<T> =
  | { readonly superseded: false; readonly value: T }
  | { readonly superseded: true };

/**
 * Lets through the last of several calls that come close together. Made by {@link Client.debounce}.
 *
 * Each call waits until it was quiet for `wait`. If another comes meanwhile, from any process, the
 * earlier one is superseded, and does nothing: of many edits of a page, the last one makes the
 * index. Each call costs two requests.
 *
 * It is not a lock: if the work takes long, the next burst's work may begin meanwhile. If the
 * process of the last call dies while it waits, nobody does the work until the next call comes.
 */
export class Debounce {
  /** The name that was asked for. */
  readonly name: string;
  readonly #made: Named;

  private constructor(made: Named) {
    this.name = made.name;
    this.#made = made;
  }

  /** @internal */
  static of(made: Named): Debounce {
    return new Debounce(made);
  }

  /**
   * Waits until it was quiet, and does `work` if no other call came meanwhile. What the work throws
   * is thrown. The signal ends the wait, and not the work. If a call rejects before its work, it
   * may have overtaken others, and nobody does the work: call again.
   */
  run<T>(work: () => T | PromiseLike<T>, options: CallOptions = {}): Promise<DebounceOutcome<T>> {
    // It may have overtaken others, and then nobody else does their work.
    return inBackground(this.#run(work, options), this.#made.host);
  }

  async #run<T>(work: () => T | PromiseLike<T>, options: CallOptions): Promise<DebounceOutcome<T>> {
    checkWork(work);
    const { value: goesThrough } = await callOf(this.#made, "call", options);
    return goesThrough ? { superseded: false, value: await this.#made.host.goingOn.during(work) } : { superseded: true };
  }
}
