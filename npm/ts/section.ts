// What a group decides: the part of shared turns that their user writes.
import type { Command } from "./command.js";
import type { Outcome } from "./gather.js";
import { invalidArgument } from "./make-error.js";
import type { Reply } from "./raw.js";

/** What becomes of an item. */
export interface Decision<Answer> {
  readonly answer: Answer;
  /** The commands that run for the item, before it is answered. */
  readonly writes?: readonly Command[] | undefined;
}

/**
 * What is read for an item, and how the items of a turn are decided. No function of it may be
 * `async`. If one throws, its item is refused with that error, and nothing is written for it. If
 * `decide` threw, the others are decided again, since it may have changed their state.
 *
 * All reads of a turn come before its first decision. So carry what a later item depends on along
 * in the turn's state, which `begin` makes: how much is left, who has had how many.
 */
export interface Section<Item, Answer, State = undefined> {
  /**
   * Whether `decide` uses the fence. By default it does: each turn takes the lock.
   *
   * If it does not, say `false`: then a turn that nobody competes with is one request. The items
   * are decided by guesses of what their reads will find: what the last turn of this isolate left,
   * what a look found, and nothing for other keys. The request writes only if the lock is free,
   * nobody waits for it, and the reads find exactly that. Otherwise the items are decided again by
   * what was found; if the third guess is wrong too, the turn takes the lock. So `decide` must
   * accept replies that were never true, such as nothing for a key that is always there, and must
   * depend only on its arguments.
   *
   * A turn takes the lock anyway for reads that never repeat, such as `TIME` or `PTTL`; for replies
   * that are no text; for reads that all items have, if they find more than 4 KiB or one has more
   * than 512 bytes; for a new command that does not read a string, hash, list, set or sorted set;
   * and if it waits for replicas.
   */
  readonly usesFence?: boolean | undefined;
  /** The reads that decide `item`. Those that all items have come first: they are sent once. */
  reads(item: Item): readonly Command[];
  /** Makes the state that the items of one turn share. */
  begin?(): State;
  /** Decides `item` by the replies to its reads, the state so far, and the fence, 0 if unused. */
  decide(item: Item, replies: readonly Reply[], state: State, fence: number): Decision<Answer>;
  /** What is written once for all items of a turn, after what was written for each. */
  end?(state: State): readonly Command[];
  /**
   * Answers an item by what its reads found without the lock, if that stays true: a sale that is
   * over, an order that was placed before. `undefined` means that the item needs its turn, which
   * then costs one more round trip. Items that arrive at about the same time share the request. If
   * a look fails, the turn decides. There is no look if the lock has `waitForReplicas`, since it
   * would see what no replica has yet, or if the item's reads alone are over `maxBytes`.
   */
  peek?(item: Item, replies: readonly Reply[]): { readonly answer: Answer } | undefined;
}

/** What a function of the section returns: no promise, which nobody would wait for. */
export function said<T>(value: T, part: string): T {
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== "function") return value;
  void Promise.resolve(value).catch(() => {});
  throw invalidArgument(`${part} says at once what it says: it is not async`);
}

export function attempt<T>(act: () => T): Outcome<T> {
  try {
    return { answer: act() };
  } catch (error) {
    return { error };
  }
}
