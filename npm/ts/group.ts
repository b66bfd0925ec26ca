// Callers of one process that share turns of a lock.
import { type CallOptions, signalOf } from "./abort.js";
import { callable, count, flag, type Names, options as known } from "./check.js";
import { bytesOf, fromRaw, toRaw } from "./command.js";
import type { Bound, Outcome } from "./gather.js";
import { type Driven, Lines } from "./lines.js";
import { Lock } from "./lock.js";
import { invalidArgument } from "./make-error.js";
import type { Reply } from "./raw.js";
import { type Asked, Reads } from "./reads.js";
import { attempt, said, type Section } from "./section.js";
import { Turns } from "./turn.js";

/** How large a turn may be. */
export interface GroupCommitOptions {
  /** How many items a turn has at most: 1 or more. Default 256. */
  readonly maxItems?: number | undefined;
  /**
   * How many bytes of commands a request has at most, approximately. Default 262,144; 2,097,152 at
   * most. The writes of a turn's last item may exceed it. An item that alone exceeds it gets a turn
   * of its own. Then other items get as many turns as its bytes would fill, before the next such
   * item.
   */
  readonly maxBytes?: number | undefined;
  /**
   * How many items of a name may wait for a turn, or for a look. Default 10,000. Once five times as
   * many callers of all names wait, each name may have an equal share of that number, or one.
   * Beyond that an item gets a `HeldError` at once.
   */
  readonly maxWaiting?: number | undefined;
}

const GROUP: Names<GroupCommitOptions> = { maxItems: 1, maxBytes: 1, maxWaiting: 1 };

/** What a look says of an item, if it answers it. */
type Looked<Answer> = { readonly answer: Answer } | null;

/**
 * Shares turns of a lock between callers of one process, or isolate: group commit.
 *
 * While a turn is under way, the items that arrive gather for the next one. One caller then
 * acquires the lock for all of them, and reads what all need in that same request. It decides the
 * items one after the other, and writes for all in a second request. Where nobody competes, one
 * request does all of that, if the section's `usesFence` is `false`. An item is in the turn if it
 * arrives before the request that takes the lock is sent. Items are decided in order of arrival, or
 * of the answers to their looks, unless one is too large for its turn. Each caller gets its own
 * answer.
 *
 * Make one at module level for each kind of section. All requests use it, each with a lock of its
 * own client. Locks of the same name must live behind the same bridge, and should have the same
 * options and credential: the options of a turn's driver count for all its items. Only callers with
 * another `waitForReplicas` have turns of their own.
 */
export class GroupCommit<Item, Answer, State = undefined> {
  readonly #section: Section<Item, Answer, State>;
  readonly #turns: Lines<Asked<Item>, Answer>;
  readonly #looks: Lines<Asked<Item>, Looked<Answer>>;
  readonly #bound: Bound;

  constructor(section: Section<Item, Answer, State>, options: GroupCommitOptions = {}) {
    if (typeof section !== "object" || section === null) throw invalidArgument("a section is { reads, decide }");
    for (const name of ["reads", "decide"] as const) if (typeof section[name] !== "function") throw invalidArgument(`${name} is a function`);
    for (const name of ["begin", "end", "peek"] as const) callable(section[name], name);
    this.#section = section;
    const usesFence = flag(section.usesFence, "usesFence") ?? true;
    known(options, GROUP, "a group commit");
    const bound = {
      items: count(options.maxItems, "maxItems", 1) ?? 256,
      // All reads of a turn must be within the bound of one call.
      bytes: Math.min(count(options.maxBytes, "maxBytes") ?? 256 * 1024, 2 ** 21),
      waiting: count(options.maxWaiting, "maxWaiting") ?? 10_000,
    };
    this.#bound = bound;
    const turns = new Turns(section, usesFence, bound);
    this.#turns = new Lines(bound, (driven) => turns.drive(driven));
    this.#looks = new Lines<Asked<Item>, Looked<Answer>>(bound, (driven) => this.#look(driven), null);
  }

  /**
   * Has `item` decided in the next turn of `lock` that has room for it, and returns its answer. The
   * item waits up to the lock's `wait` until its turn has the lock. With no wait, the item of one
   * caller at a time is decided, and the others are `held`. The lock's `signal`, or that of the
   * call, can remove the item until its turn has the lock, or is sent without the lock.
   *
   * One of the callers drives the turn. If that caller is gone, the turn goes on by its
   * `waitUntil`. If the driver's whole host is gone, the others pass the driver over after a
   * request's time-out at most. The next driver takes over what that one had: the lock, or its
   * place in the queue. If nobody is left in a process, the ttl frees the lock, so the ttl should
   * be short.
   *
   * An error of the turn is thrown to each item's caller. It has `isOutcomeUnknown` for exactly the
   * items whose answers depend on a commit of unknown outcome, or of which a command of `end`
   * failed. They are not decided again. If the replies for a turn's items are too large for one
   * answer, the items without room are in the next turn.
   */
  async submit(lock: Lock, item: Item, options: CallOptions = {}): Promise<Answer> {
    const signal = signalOf(options);
    if (!(lock instanceof Lock)) throw invalidArgument("a group commit is submitted to with a lock");
    const { home } = lock;
    if (!home.hasTurns) throw invalidArgument("a semaphore, reservations, a reentrant lock, a lock to read under, several names or limits, or one that is taken over has no turns that callers could share");
    const raw = toRaw(said(this.#section.reads(item), "reads"));
    // Invalid reads of one item must not fail the others.
    home.checkReads(raw);
    // A section may use its arrays again.
    const reads = fromRaw(raw);
    const asked = { item, reads };
    const bytes = bytesOf(reads);
    const giveUp = performance.now() + home.wait;
    if (this.#section.peek && !home.waitsForReplicas && bytes <= this.#bound.bytes) {
      // Another client's look may hang. Then the turn decides.
      const until = performance.now() + home.maker.requestTimeout / 2;
      const seen = await this.#looks.submit(home, asked, bytes, until, signal);
      if (seen) return seen.answer;
    }
    return this.#turns.submit(home, asked, bytes, giveUp, signal);
  }

  async #look({ line, turn, home }: Driven<Asked<Item>, Looked<Answer>>): Promise<void> {
    const items = turn.entries.map(({ item }) => item);
    const reads = new Reads(items);
    let replies: readonly Reply[];
    try {
      replies = await home.readEach(reads.commands);
    } catch {
      // If the look could not learn something, the turn decides.
      return line.end(turn, items.map(() => ({ answer: null })));
    }
    const seen = items.map(({ item }, at): Outcome<Looked<Answer>> => {
      const found = attempt(() => reads.replies(at, replies, home.key));
      if ("error" in found) return { answer: null };
      items[at]!.looked = reads.replies(at, replies, home.key);
      return attempt(() => seenIn(this.#section.peek?.(item, found.answer)));
    });
    line.end(turn, seen);
  }
}

/** What `peek` says. */
function seenIn<Answer>(value: { readonly answer: Answer } | undefined): Looked<Answer> {
  const seen = said(value, "peek");
  if (seen !== undefined && (typeof seen !== "object" || seen === null)) throw invalidArgument("peek says { answer }, or undefined");
  return seen ?? null;
}
