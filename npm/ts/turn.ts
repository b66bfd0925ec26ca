// A turn that callers share: one request where nobody competes, else under the lock.
import { bytesOf, type Command } from "./command.js";
import { committed, decide, type Decided, NOTHING } from "./decide.js";
import { EdgelockError, HeldError } from "./errors.js";
import type { ErrorCode } from "./failure.js";
import type { Bound } from "./gather.js";
import type { Lease } from "./lease.js";
import type { Driven } from "./lines.js";
import type { Guess, Guessed, Home, Left } from "./lock.js";
import { refused, unavailable } from "./make-error.js";
import type { Reply } from "./raw.js";
import { type Asked, Reads } from "./reads.js";
import { attempt, type Section } from "./section.js";
import { Seen } from "./seen.js";
import { type Value, words } from "./words.js";

/** A turn that has the lock. */
interface Found<Item> {
  readonly lease: Lease;
  readonly items: readonly Asked<Item>[];
  readonly reads: Reads;
  readonly replies: readonly Reply[];
}

/** A turn that must wait for the lock, after so many requests; or guess again, if it was wrong. */
interface NeedsLock {
  readonly sent: number;
  readonly isWrong?: boolean;
}

/** A turn that has ended, and how many items it decided. */
interface Over {
  readonly count: number;
}

const IN_VAIN: Over = { count: 0 };

/** A turn that is to be sent. */
interface Prepared<Item, Answer> {
  readonly items: readonly Asked<Item>[];
  readonly reads: Reads;
  readonly found: readonly Reply[];
  /** By Redis's clock, in microseconds. */
  readonly redis: number;
  /** Nothing, if it only learns what the reads find. */
  readonly decided: Decided<Answer> | undefined;
  readonly common: readonly Command[];
}

/** How often a turn asks though another has the lock. */
const HELD = 2;

/** So many guesses of a turn leave the lock free if they are wrong. */
const LEAVING = 2;

/** So many items share the requests of a wait. */
const MANY = 2;

/** A request that is later than this, in milliseconds, runs no writes. Its receipt lives longer. */
const LATEST = 20_000;

/** The turns of one section. */
export class Turns<Item, Answer, State> {
  readonly #section: Section<Item, Answer, State>;
  readonly #usesFence: boolean;
  readonly #bound: Bound;
  readonly #seen = new Seen();

  constructor(section: Section<Item, Answer, State>, usesFence: boolean, bound: Bound) {
    this.#section = section;
    this.#usesFence = usesFence;
    this.#bound = bound;
  }

  /**
   * One request if nobody competes. Otherwise it takes the lock, by that request or by waiting for
   * it, and commits.
   */
  async drive(driven: Driven<Asked<Item>, Answer>): Promise<void> {
    const begunAt = performance.now();
    // Those whom the last turn answered may be about to come again.
    if (driven.line.owes) await new Promise((resolve) => setTimeout(resolve));
    const guessed = await this.#tryGuess(driven);
    const found = "sent" in guessed ? await this.#acquire(driven, guessed.sent) : guessed;
    const { count } = "lease" in found ? await this.#work(driven, found) : found;
    const { line, home } = driven;
    if (count > 0) home.maker.tell({ type: "grouped", lock: home.key, items: count, waiting: line.waiting, took: Math.ceil(performance.now() - begunAt) });
  }

  /** Whether a turn may be one request. */
  #mayGuess(home: Home, sent = 0): boolean {
    return !this.#usesFence && home.mayGuess(sent);
  }

  /** As src/group/guess.rs says: guesses until it is right, was held twice, or was wrong thrice. */
  async #tryGuess(driven: Driven<Asked<Item>, Answer>): Promise<Found<Item> | NeedsLock | Over> {
    const { line, home, giveUp } = driven;
    let [sent, held] = [0, 0];
    if (this.#seen.isCrowded(home.key) && line.here >= MANY) return { sent };
    let leaving = this.#seen.isInVain(home.key) ? 0 : LEAVING;
    while (held < HELD) {
      const mayAgain = this.#mayGuess(home, sent + 1);
      if (!mayAgain && !this.#mayGuess(home, sent)) break;
      if (sent > 0 && performance.now() >= giveUp) break;
      const takes = leaving === 0 || !mayAgain;
      const outcome = await this.#guess(driven, sent, takes);
      if (!("sent" in outcome)) return outcome;
      if (outcome.sent === 0) break;
      sent += outcome.sent;
      if (outcome.isWrong) leaving--;
      else held++;
    }
    return { sent };
  }

  /**
   * Decides by what the reads will find, as far as that is known, in one request without the lock:
   * src/group/guess.rs says how.
   */
  async #guess(driven: Driven<Asked<Item>, Answer>, sent: number, takes: boolean): Promise<Found<Item> | NeedsLock | Over> {
    const { line, turn, lock, home } = driven;
    if (sent === 0) await this.#seen.pause(home.key, () => line.here);
    const prepared = this.#prepare(driven);
    if (!("items" in prepared)) return prepared;
    return this.#send(driven, prepared, { sent, takes }, (guess) =>
      // If this does not end, the next driver gives the lock back.
      lock.guess(guess, (token) => line.commit(turn, token)),
    );
  }

  /** The same under the lock, by what its last holder left, who handed it over. */
  async #handed(driven: Driven<Asked<Item>, Answer>, lease: Lease, left: Left): Promise<Found<Item> | Over> {
    const { line, turn, lock } = driven;
    let prepared: Prepared<Item, Answer> | NeedsLock | Over = this.#prepare(driven, left);
    if ("sent" in prepared) {
      const items = line.ask(turn, this.#bound) ?? [];
      const reads = new Reads(items);
      // One reply more than there are reads, which no reads find.
      const found = [...reads.commands, null].map(() => null);
      prepared = { items, reads, found, redis: 0, decided: undefined, common: [] };
    }
    const takes = "items" in prepared && prepared.decided !== undefined;
    if (!("items" in prepared) || (takes && !line.commit(turn, lease.token))) {
      lease.giveBack();
      return IN_VAIN;
    }
    const found = await this.#send(driven, prepared, { sent: 0, takes }, (guess) => lock.guessUnder(lease, guess));
    // After an error.
    lease.giveBack();
    if (!("sent" in found)) return found;
    // It was lost.
    line.putBack(turn, () => false);
    line.end(turn, []);
    return IN_VAIN;
  }

  /** Decides by what the reads will find, as far as that is known. */
  #prepare(driven: Driven<Asked<Item>, Answer>, left?: Left): Prepared<Item, Answer> | NeedsLock | Over {
    const { line, turn, home } = driven;
    const asked = line.ask(turn, this.#bound);
    if (!asked?.length) {
      line.end(turn, []);
      return IN_VAIN;
    }
    const reads = new Reads(asked);
    if (left) this.#seen.left(home.key, reads, left);
    const expected = this.#seen.guess(home.key, reads);
    if (!expected) return { sent: 0 };
    // Nobody has left since they were asked for.
    line.begin(turn);
    let decided;
    try {
      decided = decide(this.#section, driven, asked, { reads, replies: expected.found, maxBytes: this.#bound.bytes, fence: 0, isLate: () => false });
    } catch {
      // What `begin` or `end` made of a guess is no error of the items: the lock tells what is so.
      line.retreat(turn);
      return { sent: 0 };
    }
    const { places, writes } = decided;
    const isDecided = asked.map((_, at) => places.includes(at));
    const items = asked.filter((_, at) => isDecided[at]);
    line.putBack(turn, (at) => isDecided[at]!);
    reads.retain(isDecided);
    const common = writes.length > 0 || left ? this.#inCommon(home, reads, writes) : [];
    if (bytesOf(reads.commands) + bytesOf([...writes, ...common]) + words(...(expected.found as readonly Value[])).length > this.#bound.bytes) {
      line.retreat(turn);
      return { sent: 0 };
    }
    return { items, reads, ...expected, decided, common };
  }

  async #send(
    { line, turn, home }: Driven<Asked<Item>, Answer>,
    { items, reads, found, redis, decided, common }: Prepared<Item, Answer>,
    options: Pick<Guess, "sent" | "takes">,
    ask: (guess: Guess) => Promise<Guessed>,
  ): Promise<Found<Item> | NeedsLock | Over> {
    const { outcomes, writes, firstWrite } = decided ?? NOTHING;
    const until = redis + Math.min(home.ttl, LATEST) * 1000;
    const begunAt = performance.now();
    let guessed;
    try {
      guessed = await ask({ ...options, reads: reads.commands, found, writes: [...writes, ...common], told: common.length, until });
    } catch (error) {
      this.#seen.forget(home.key);
      if (decided && error instanceof EdgelockError && error.isOutcomeUnknown) {
        // An answer that depends on no write is not given either: its reads were guessed.
        line.end(turn, outcomes.map((_, at) => ({ error: at < firstWrite ? undecided(error) : error })));
      } else {
        line.retreat(turn);
        fail({ line, turn }, items.length, error);
      }
      return IN_VAIN;
    }
    const { replies } = guessed;
    if ("lease" in guessed || "sent" in guessed) {
      line.retreat(turn);
      if ("sent" in guessed) {
        const { sent, at } = guessed;
        if (at !== undefined) this.#learn(home, at, items, reads, replies);
        return { sent, isWrong: at !== undefined };
      }
      this.#seen.wasInVain(home.key);
      return { ...guessed, items, reads };
    }
    const behind = replies.splice(writes.length);
    if (writes.length + common.length > 0) this.#seen.note(home.key, guessed.at, common, behind, reads);
    this.#seen.ends(home.key, begunAt, line.here);
    line.end(turn, [...outcomes.slice(0, firstWrite), ...committed(decided ?? NOTHING, replies, home.key)]);
    return { count: items.length };
  }

  /** What the reads of a guess found, which was wrong: the next one expects that. */
  #learn(home: Home, at: number, items: readonly Asked<Item>[], reads: Reads, replies: readonly Reply[]): void {
    this.#seen.learn(home.key, at, reads, replies);
    for (const [place, item] of items.entries()) {
      const found = attempt(() => reads.replies(place, replies, home.key));
      if ("answer" in found) item.looked = found.answer;
    }
  }

  /** What the next turn will read, if there is room for it behind the writes. */
  #inCommon(home: Home, reads: Reads, writes: readonly Command[]): readonly Command[] {
    const common = this.#mayGuess(home) ? this.#seen.inCommon(home.key, reads) : [];
    return bytesOf(writes) + bytesOf(common) > this.#bound.bytes ? [] : common;
  }

  /** Waits for the lock. */
  async #acquire(driven: Driven<Asked<Item>, Answer>, sent: number): Promise<Found<Item> | Over> {
    const { line, turn, lock, giveUp, home, acquisition } = driven;
    // Guesses take time, too.
    const patient = sent > 0 ? home.patient(Math.max(Math.ceil(giveUp - performance.now()), 0)) : lock;
    let items: readonly Asked<Item>[] = [];
    let reads = new Reads(items);
    const asked = () => {
      const askedFor = line.ask(turn, this.#bound);
      if (askedFor) reads = new Reads((items = askedFor));
      return reads.commands;
    };
    try {
      const asks = { sent, guesses: this.#mayGuess(home), listens: this.#seen.isCrowded(home.key) };
      const { lease, ahead, replies, left } = await patient.acquireAs(acquisition, asks, asked);
      this.#seen.waitedBehind(home.key, ahead);
      return left ? await this.#handed(driven, lease, left) : { lease, items, reads, replies };
    } catch (error) {
      fail({ line, turn }, reads.items, error);
      return IN_VAIN;
    } finally {
      if (patient !== lock) patient.free();
    }
  }

  /** Decides under the lock, and writes. */
  async #work(driven: Driven<Asked<Item>, Answer>, { lease, items, reads, replies }: Found<Item>): Promise<Over> {
    const { line, turn, home } = driven;
    let isOver = false;
    try {
      // A driver that was passed over while it waited must not even decide.
      const has = line.begin(turn);
      if (!has) return IN_VAIN;
      reads.retain(has);
      const present = items.filter((_, at) => has[at]);
      // The one for which there was room in the answer may have left.
      if (!has[0] && present.length > 0 && reads.lackRoom(0, replies)) line.putBack(turn, () => false), (present.length = 0);
      const fence = lease.fence;
      const isLate = () => lease.remaining < home.ttl / 4;
      const decided = present.length > 0 ? decide(this.#section, driven, present, { reads, replies, maxBytes: this.#bound.bytes, fence: this.#usesFence ? fence : 0, isLate }) : NOTHING;
      const { places, outcomes, writes, firstWrite } = decided;
      line.putBack(turn, (at) => places.includes(at));
      // An answer that depends on no write is true whatever the outcome of the commit.
      line.answer(turn, outcomes.slice(0, firstWrite));
      // If the commit does not end, the next driver gives the lock back.
      if (!line.commit(turn, lease.token)) return IN_VAIN;
      const common = this.#inCommon(home, reads, writes);
      const note = (found: readonly Reply[]) => this.#mayGuess(home) && this.#seen.note(home.key, fence, common, found, reads);
      const tells = this.#seen.isCrowded(home.key) && common.length > 0;
      if (writes.length === 0 && !tells) {
        note(reads.found(common, replies));
        // Only the next turn waits for this. If it failed, that turn will notice.
        isOver = await lease.release().then(() => true, () => false);
        line.end(turn, []);
      } else {
        const told = await lease.commitEach([...writes, ...common], common.length).then(
          (done) => {
            note(done.splice(writes.length));
            return committed(decided, done, home.key);
          },
          (error: unknown) => outcomes.slice(firstWrite).map(() => ({ error })),
        );
        isOver = true;
        lease.giveBack();
        line.end(turn, told);
      }
      return { count: outcomes.length };
    } finally {
      if (!isOver) lease.giveBack();
    }
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

/** After these the same call may succeed soon: it got lost, or the bridge or Redis is away. */
const PASSING: readonly ErrorCode[] = ["unavailable", "timed_out", "truncated", "unexpected_reply"];

/**
 * What is unknown before a turn has the lock is who has it. Of its items nothing was done. Not by
 * `isRetryable`: that of a turn with writes says no, for the items of others.
 */
function undecided(error: unknown): unknown {
  if (!(error instanceof EdgelockError) || !error.isOutcomeUnknown) return error;
  return (PASSING.includes(error.code) ? unavailable : refused)(error.message, false, error.lock, error);
}
