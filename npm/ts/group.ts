// Callers of one process that share turns of a lock.
import { type CallOptions, signalOf } from "./abort.js";
import { callable, count, type Names, options as known } from "./check.js";
import { bytesOf, type Command, fromRaw, isSame, toRaw } from "./command.js";
import { type CommandFailedError, EdgelockError, HeldError } from "./errors.js";
import type { Lease } from "./lease.js";
import type { Bound, Outcome } from "./gather.js";
import { type Driven, Lines } from "./lines.js";
import { Lock } from "./lock.js";
import { commandFailed, invalidArgument, refused, unavailable } from "./make-error.js";
import type { Reply } from "./raw.js";

/** What becomes of an item. */
export interface Decision<Answer> {
  readonly answer: Answer;
  /** The commands that are run for it. It is answered once they were. */
  readonly writes?: readonly Command[] | undefined;
}

/**
 * What is read for an item, and how the items of a turn are decided. No function of it may wait, or
 * be `async`. If one throws, its item is refused with that error, and nothing is written for it.
 *
 * All reads of a turn are made before its first item is decided. So if a decision changes what a
 * later item depends on, carry it along in the turn's state, which `begin` makes: how much is left,
 * who has had how many.
 */
export interface Section<Item, Answer, State = undefined> {
  /**
   * What must be known to decide `item`. Put what all items read first, in the same order: it is
   * then read once for all.
   */
  reads(item: Item): readonly Command[];
  /** Makes the state that the items of one turn share. */
  begin?(): State;
  /**
   * Decides `item` by the `replies` to its reads, by what the items before it made of `state`, and
   * by the turn's fence.
   */
  decide(item: Item, replies: readonly Reply[], state: State, fence: number): Decision<Answer>;
  /** What is written once for all items of a turn, after what was written for each. */
  end?(state: State): readonly Command[];
  /**
   * Answers an item by what its reads found without the lock, if that stays true: a sale that is
   * over, an order that was placed before. `undefined` means that the item needs its turn, which
   * then costs one more round trip. All items are looked at first; those that arrive at about the
   * same time share the request. If a look fails, the turn decides. If the lock has
   * `waitForReplicas`, no item is looked at: a look sees what no replica has yet. Nor is an item
   * whose reads alone are over `maxBytes`.
   */
  peek?(item: Item, replies: readonly Reply[]): { readonly answer: Answer } | undefined;
}

/** How large a turn may be. */
export interface GroupCommitOptions {
  /** How many items a turn has at most: 1 or more. Default 256. */
  readonly maxItems?: number | undefined;
  /**
   * How many bytes of commands a request has at most, approximately. Default 262,144; 2,097,152 at
   * most. The writes of a turn's last item may exceed it. An item that alone exceeds it gets a turn
   * of its own. Before the next such item, others have as many turns as the bytes of that one would
   * fill.
   */
  readonly maxBytes?: number | undefined;
  /**
   * How many items of a name may wait for a turn, or for a look. Default 10,000. Once all names
   * together have five times as many callers, each may have its share of as many again, or one.
   * Beyond that an item gets a `HeldError` at once.
   */
  readonly maxWaiting?: number | undefined;
}

const GROUP: Names<GroupCommitOptions> = { maxItems: 1, maxBytes: 1, maxWaiting: 1 };

/** What a look says of an item, if it answers it. */
type Seen<Answer> = { readonly answer: Answer } | null;

/** What a turn has decided. */
interface Decided<Answer> {
  /** The places in the turn of the items that are decided. */
  readonly places: readonly number[];
  readonly outcomes: readonly Outcome<Answer>[];
  readonly writes: readonly Command[];
  /** Which outcome each write belongs to. The writes behind these belong to the turn. */
  readonly owners: readonly number[];
  /** The first outcome that depends on a write. */
  readonly firstWrite: number;
}

/** What a turn decides that all have left. */
const NOTHING: Decided<never> = { places: [], outcomes: [], writes: [], owners: [], firstWrite: Infinity };

interface Asked<Item> {
  readonly item: Item;
  readonly reads: readonly Command[];
}

/**
 * Shares turns of a lock between callers of one process, or isolate: group commit.
 *
 * While a turn is under way, the items that arrive gather for the next one. One caller then
 * acquires the lock for all of them, and reads what all need in that same request. It decides the
 * items one after the other, and writes for all in a second request. An item that arrives before
 * the request that takes the lock was sent is in that turn. Items are decided in order of arrival,
 * unless one is too large for its turn, and each caller gets its own answer.
 *
 * Make one at module level for each kind of section. All requests use it, each with a lock of its
 * own client. Locks of the same name must live behind the same bridge, and should have the same
 * options and credential: those of the caller that drives a turn count for all of its items. Only
 * callers that ask for other replicas have turns of their own.
 */
export class GroupCommit<Item, Answer, State = undefined> {
  readonly #section: Section<Item, Answer, State>;
  readonly #turns: Lines<Asked<Item>, Answer>;
  readonly #looks: Lines<Asked<Item>, Seen<Answer>>;
  readonly #bound: Bound;

  constructor(section: Section<Item, Answer, State>, options: GroupCommitOptions = {}) {
    if (typeof section !== "object" || section === null) throw invalidArgument("a section is { reads, decide }");
    for (const name of ["reads", "decide"] as const) if (typeof section[name] !== "function") throw invalidArgument(`${name} is a function`);
    for (const name of ["begin", "end", "peek"] as const) callable(section[name], name);
    this.#section = section;
    known(options, GROUP, "a group commit");
    const bound = {
      items: count(options.maxItems, "maxItems", 1) ?? 256,
      // All reads of a turn must be within the bound of one call.
      bytes: Math.min(count(options.maxBytes, "maxBytes") ?? 256 * 1024, 2 ** 21),
      waiting: count(options.maxWaiting, "maxWaiting") ?? 10_000,
    };
    this.#bound = bound;
    this.#turns = new Lines(bound, (driven) => this.#turn(driven));
    this.#looks = new Lines<Asked<Item>, Seen<Answer>>(bound, (driven) => this.#look(driven), null);
  }

  /**
   * Has `item` decided in the next turn of `lock` that has room for it, and returns its answer. The
   * item waits up to the lock's `wait` until its turn has the lock. The lock's `signal`, or that of
   * the call, removes it before that.
   *
   * One of the callers drives the turn. The turn goes on by that caller's `waitUntil` if the caller
   * is gone. If a driver's whole host is gone, the others pass it over after a request's time-out
   * at most. The next driver takes over what it had: the lock, or its place in the queue. If nobody
   * is left in a process, the lock is free after its ttl at the latest, so the ttl should be short.
   *
   * An error of the turn is thrown to each of its items. It `isOutcomeUnknown` for exactly those
   * whose answers depend on a commit of unknown outcome, or on one of which a command of `end`
   * failed, and they are not decided again. If the replies for all items of a turn are too large
   * for one answer, those for which no room was left are in the next turn.
   */
  async submit(lock: Lock, item: Item, options: CallOptions = {}): Promise<Answer> {
    const signal = signalOf(options, "a call");
    if (!(lock instanceof Lock)) throw invalidArgument("a group commit is submitted to with a lock");
    if (!lock.home.hasTurns) throw invalidArgument("a semaphore, a reentrant lock, a lock to read under, or a lock of several names has no turns that callers could share: others decide at the same time");
    const raw = toRaw(said(this.#section.reads(item), "reads"));
    // Invalid reads of one item must not fail the others.
    lock.home.checkReads(raw);
    // A section may use its arrays again.
    const reads = fromRaw(raw);
    const asked = { item, reads };
    const bytes = bytesOf(reads);
    const giveUp = performance.now() + lock.home.wait;
    if (this.#section.peek && !lock.home.waitsForReplicas && bytes <= this.#bound.bytes) {
      // Another client's look may hang. Then the turn decides.
      const until = performance.now() + lock.home.requestTimeout / 2;
      const seen = await this.#looks.submit(lock, asked, bytes, until, signal);
      if (seen) return seen.answer;
    }
    return this.#turns.submit(lock, asked, bytes, giveUp, signal);
  }

  async #look({ line, turn, home }: Driven<Asked<Item>, Seen<Answer>>): Promise<void> {
    const items = turn.entries.map(({ item }) => item);
    const reads = new Reads(items);
    let replies: readonly Reply[];
    try {
      replies = await home.readEach(reads.commands);
    } catch {
      // If the look could not learn something, the turn decides.
      return line.end(turn, items.map(() => ({ answer: null })));
    }
    const seen = items.map(({ item }, at): Outcome<Seen<Answer>> => {
      const found = attempt(() => reads.replies(at, replies, home.key));
      return "error" in found ? { answer: null } : attempt(() => seenIn(this.#section.peek?.(item, found.answer)));
    });
    line.end(turn, seen);
  }

  async #turn(driven: Driven<Asked<Item>, Answer>): Promise<void> {
    const { line, turn, lock, home, acquisition } = driven;
    const begunAt = performance.now();
    // Those whom the last turn answered may be about to come again.
    if (line.owes) await new Promise((resolve) => setTimeout(resolve));
    let items: readonly Asked<Item>[] = [];
    let reads = new Reads(items);
    const asked = () => {
      const askedFor = line.ask(turn, this.#bound);
      if (askedFor) reads = new Reads((items = askedFor));
      return reads.commands;
    };
    let lease, replies;
    try {
      [lease, replies] = await lock.acquireAs(acquisition(), asked);
    } catch (error) {
      return fail({ line, turn }, reads.items, error);
    }
    let isOver = false;
    try {
      // A driver that was passed over while it waited must not even decide.
      const has = line.begin(turn);
      if (!has) return;
      reads.retain(has);
      const decided = items.filter((_, at) => has[at]);
      // The one for which there was room in the answer may have left.
      if (!has[0] && decided.length > 0 && reads.lackRoom(0, replies)) line.putBack(turn, () => false), (decided.length = 0);
      const { places, outcomes, writes, owners, firstWrite } = decided.length > 0 ? this.#decide(driven, decided, reads, replies, lease) : NOTHING;
      const count = outcomes.length;
      line.putBack(turn, (at) => places.includes(at));
      // An answer that depends on no write is true whatever the outcome of the commit.
      line.answer(turn, outcomes.slice(0, firstWrite));
      // If the commit does not end, the next driver gives the lock back.
      if (!line.commit(turn, lease.token)) return;
      if (writes.length === 0) {
        // Only the next turn waits for this. If it failed, that turn will notice.
        isOver = await lease.release().then(() => true, () => false);
        line.end(turn, []);
      } else {
        const behind = outcomes.slice(firstWrite);
        const told = await lease.commitEach(writes).then(
          (done) => committed(behind, writes, owners, firstWrite, executed(done), home.key),
          (error: unknown) => behind.map(() => ({ error })),
        );
        isOver = true;
        lease.giveBack();
        line.end(turn, told);
      }
      if (count > 0) home.tell({ type: "grouped", lock: home.key, items: count, waiting: line.waiting, took: Math.ceil(performance.now() - begunAt) });
    } finally {
      if (!isOver) lease.giveBack();
    }
  }

  /**
   * Decides the items, until their writes are too many for one request, or a quarter of the ttl is
   * left. Items for whose replies others left no room wait for the next turn. An item whose own
   * writes are too large for a turn with others waits for a turn to itself: the others are decided
   * again as if it was not there, since it may have changed their state. If that leaves none, the
   * first one has the turn.
   */
  #decide(driven: Driven<Asked<Item>, Answer>, items: readonly Asked<Item>[], reads: Reads, replies: readonly Reply[], lease: Lease, large: ReadonlySet<number> = new Set()): Decided<Answer> {
    const { line, turn, home } = driven;
    const checked = (commands: readonly Command[]) => {
      const raw = toRaw(commands);
      home.checkWrites(raw);
      return fromRaw(raw);
    };
    const state = said(this.#section.begin?.(), "begin") as State;
    const places: number[] = [];
    const outcomes: Outcome<Answer>[] = [];
    const writes: Command[] = [];
    const owners: number[] = [];
    let written = 0;
    let firstWrite = Infinity;
    for (let at = 0; at < items.length; at++) {
      const count = outcomes.length;
      if (count > 0 && (written >= this.#bound.bytes || lease.remaining < home.ttl / 4)) break;
      if (large.has(at) || (at > 0 && reads.lackRoom(at, replies))) continue;
      let isTooLarge = false;
      const outcome = attempt(() => {
        const decision = said(this.#section.decide(items[at]!.item, reads.replies(at, replies, home.key), state, lease.fence), "decide");
        if (typeof decision !== "object" || decision === null) throw invalidArgument("decide says { answer, writes }");
        const { answer } = decision;
        // Invalid writes of one item must not fail the others.
        const own = checked(decision.writes ?? []);
        const bytes = bytesOf(own);
        const isLarge = bytes > this.#bound.bytes;
        isTooLarge = isLarge && items.length > 1;
        if (isLarge) line.isLarge(turn, at, bytes, isTooLarge ? 0 : Math.ceil(bytes / Math.max(this.#bound.bytes, 1)));
        if (own.length > 0) firstWrite = Math.min(firstWrite, count);
        written += bytes;
        for (const write of own) owners.push(count), writes.push(write);
        return answer;
      });
      if (isTooLarge) return this.#decide(driven, items, reads, replies, lease, new Set([...large, at]));
      places.push(at);
      outcomes.push(outcome);
    }
    if (outcomes.length === 0) return this.#decide(driven, items.slice(0, 1), reads, replies, lease);
    const end = checked(said(this.#section.end?.(state), "end") ?? []);
    if (end.length > 0) firstWrite = 0;
    writes.push(...end);
    return { places, outcomes, writes, owners, firstWrite };
  }
}

/** What stands for a reply that is too large for an answer; for which others left no room. */
const TOO_LARGE = "reply over 1 MiB";
const NO_ROOM = "reply over 1 MiB, with others";

/** The reads of several items. What all of them read at the same place is there once. */
class Reads {
  readonly commands: Command[] = [];
  /** For each item, where its reads are. */
  #places: readonly number[][];

  constructor(items: readonly Asked<unknown>[]) {
    const places: number[][] = [];
    for (const { reads } of items) {
      const first = places[0];
      const place = (read: Command, at: number) => {
        const shared = first?.[at];
        return shared !== undefined && isSame(this.commands[shared]!, read) ? shared : this.commands.push(read) - 1;
      };
      places.push(reads.map(place));
    }
    this.#places = places;
  }

  /** Of how many items they are. */
  get items(): number {
    return this.#places.length;
  }

  /** Drops the items that `has` says no of. */
  retain(has: readonly boolean[]): void {
    this.#places = this.#places.filter((_, at) => has[at]);
  }

  /** Whether the replies before those to one item's reads left no room for them in the answer. */
  lackRoom(item: number, replies: readonly Reply[]): boolean {
    return this.#places[item]!.some((place) => errorIn(replies[place]) === NO_ROOM);
  }

  /** The replies to one item's reads: copies, since a section may change what it gets. */
  replies(item: number, replies: readonly Reply[], lock: string): Reply[] {
    const places = this.#places[item]!;
    const own = places.map((place) => replies[place] ?? null);
    const error = failed(places.map((place) => this.commands[place]!), own, lock);
    if (error) throw error;
    return own.map(copied);
  }
}

/**
 * The reads failed, so each item that the turn began with gets the error. If its driver has waited
 * long enough, only that one does, since the others have waits of their own. If the replies are too
 * large together, the items have smaller turns.
 */
function fail<Item, Answer>({ line, turn }: Pick<Driven<Asked<Item>, Answer>, "line" | "turn">, asked: number, error: unknown): void {
  if (error instanceof HeldError) line.putBackOthers(turn);
  if (error instanceof EdgelockError && error.code === "too_large" && line.shrink(turn, asked)) return line.end(turn, []);
  const told = { error: undecided(error) };
  line.end(turn, turn.entries.map(() => told));
}

/** The error of the first of these commands that failed, by the replies to all of them. */
function failed(commands: readonly Command[], replies: readonly Reply[], lock: string): CommandFailedError | undefined {
  for (const [index, reply] of replies.entries()) {
    const error = errorIn(reply);
    if (error !== undefined) return commandFailed(index, String(commands[index]![0]), error, lock);
  }
  return undefined;
}

function errorIn(reply: Reply | undefined): string | undefined {
  return typeof reply === "object" && reply !== null && "error" in reply ? reply.error : undefined;
}

/** The replies to writes. A write whose reply is left out was executed, and nobody asks for it. */
function executed(replies: readonly Reply[]): Reply[] {
  return replies.map((reply) => ([TOO_LARGE, NO_ROOM].includes(errorIn(reply) ?? "") ? null : reply));
}

/** What is unknown before a turn has the lock is who has it. Of its items nothing was done. */
function undecided(error: unknown): unknown {
  if (!(error instanceof EdgelockError) || !error.isOutcomeUnknown) return error;
  return (error.isRetryable ? unavailable : refused)(error.message, false, error.lock, error);
}

/**
 * The outcomes of the items whose answers depend on a commit, by the replies to its commands.
 * `first` is the first of these items.
 */
function committed<Answer>(outcomes: readonly Outcome<Answer>[], writes: readonly Command[], owners: readonly number[], first: number, replies: readonly Reply[], lock: string): Outcome<Answer>[] {
  const ofAll = failed(writes.slice(owners.length), replies.slice(owners.length), lock);
  if (ofAll) {
    const error = unavailable(`written for all items of the turn, ${ofAll.message}`, true, lock);
    return outcomes.map(() => ({ error }));
  }
  return outcomes.map((outcome, at) => {
    const from = owners.indexOf(first + at);
    if (from < 0) return outcome;
    const to = owners.lastIndexOf(first + at) + 1;
    const error = failed(writes.slice(from, to), replies.slice(from, to), lock);
    return error ? { error } : outcome;
  });
}

/**
 * What a function of the section returns. It may not be a promise: nobody would wait for it, or
 * notice that it failed.
 */
function said<T>(value: T, part: string): T {
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== "function") return value;
  void Promise.resolve(value).catch(() => {});
  throw invalidArgument(`${part} says at once what it says: it is not async`);
}

/** What `peek` says. */
function seenIn<Answer>(value: { readonly answer: Answer } | undefined): Seen<Answer> {
  const seen = said(value, "peek");
  if (seen !== undefined && (typeof seen !== "object" || seen === null)) throw invalidArgument("peek says { answer }, or undefined");
  return seen ?? null;
}

function copied(reply: Reply): Reply {
  return typeof reply === "object" && reply !== null ? structuredClone(reply) : reply;
}

function attempt<T>(act: () => T): Outcome<T> {
  try {
    return { answer: act() };
  } catch (error) {
    return { error };
  }
}
