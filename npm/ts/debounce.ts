// Lets the last of the calls through that come close together, once it is quiet.
import { type CallOptions, signalOf } from "./abort.js";
import { work as checkWork } from "./check.js";
import { inBackground } from "./going-on.js";
import { callOf, type Named } from "./instance.js";

/** How calls are debounced. */
export interface DebounceOptions {
  /**
   * How many whole milliseconds a call waits at most, however many come after it: from the wait to
   * 24 hours. Default ten times the wait, and 24 hours at most. The first call's bound counts for
   * the whole burst, unless a later call's is over before.
   */
  readonly maxWait?: number | undefined;
}

/** What became of a call. */
export type DebounceOutcome<T> =
  | {
      /** It was the last, and did the work. */
      readonly superseded: false;
      readonly value: T;
    }
  | {
      /** Another call came after it, and waits in its place. The work was not begun. */
      readonly superseded: true;
    };

/**
 * Lets through the last of several calls that come close together. Made by {@link Client.debounce}.
 *
 * Every edit of a page asks for a new index, and one index after the last edit is enough. Each call
 * waits until it was quiet for `wait`. If another call comes meanwhile, from any process, the
 * earlier one is superseded, and does nothing. Each call costs two requests. If calls never cease,
 * one goes through `maxWait` after the first one at the latest.
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
   * is thrown.
   *
   * The signal ends the wait, and not the work. If a call rejects before its work, it may have
   * overtaken others, and nobody does the work: call again.
   */
  run<T>(work: () => T | PromiseLike<T>, options: CallOptions = {}): Promise<DebounceOutcome<T>> {
    // It may have overtaken others, and then nobody else does their work.
    return inBackground(this.#run(work, options), this.#made.host);
  }

  async #run<T>(work: () => T | PromiseLike<T>, options: CallOptions): Promise<DebounceOutcome<T>> {
    checkWork(work);
    const { value: goesThrough } = await callOf(this.#made, "call", [signalOf(options)]);
    return goesThrough ? { superseded: false, value: await this.#made.host.goingOn.during(work) } : { superseded: true };
  }
}
