// The items of all names, and the callers that wait for each name.
import { deferred } from "edgelock-exchange";
import { onAbort, type Signals } from "./abort.js";
import { aborted, heldBehind, unavailable } from "./make-error.js";
import { type Bound, type Entry, Gather, type Outcome, type Turn } from "./gather.js";
import { LONGEST_TIMER } from "./check.js";
import { inBackground } from "./going-on.js";
import { Acquisition, type Home, type Lock } from "./lock.js";

/** A turn, its line, and the lock to drive it with. */
export interface Driven<Item, Answer> {
  readonly line: Gather<Item, Answer>;
  readonly turn: Turn<Item, Answer>;
  readonly lock: Lock;
  /** When its driver no longer waits for the lock, by `performance.now`. */
  readonly giveUp: number;
  readonly home: Home;
  /**
   * The acquisition of the driver. If a driver vanishes before it wrote, the next one goes on with
   * it.
   */
  readonly acquisition: Acquisition;
}

/** What waits, by name. Nothing is kept of a name that nobody asks for. */
export class Lines<Item, Answer> {
  readonly #byName = new Map<string, Pick<Driven<Item, Answer>, "line" | "acquisition">>();
  readonly #bound: Bound;
  readonly #work: (driven: Driven<Item, Answer>) => Promise<void>;
  readonly #late: Answer | undefined;
  /** How many wait for the answers to their items. */
  #callers = 0;

  /**
   * `work` drives a turn to its end. An item whose time is over is answered by `late`, whatever
   * became of its turn. Without that it is refused, unless its turn has begun.
   */
  constructor(bound: Bound, work: (driven: Driven<Item, Answer>) => Promise<void>, late?: Answer) {
    this.#bound = bound;
    this.#work = work;
    this.#late = late;
  }

  /**
   * The outcome of `item` at the lock of `home`. Its turn must begin before `giveUp`, unless
   * `signal` removes it before.
   */
  submit(home: Home, item: Item, bytes: number, giveUp: number, signal: AbortSignal | undefined): Promise<Answer> {
    // If it is next to drive, those behind it need it; if not, it leaves once its wait is over.
    return inBackground(this.#submit(home, item, bytes, giveUp, [...home.signals, signal]), home.maker);
  }

  async #submit(home: Home, item: Item, bytes: number, giveUp: number, signals: Signals): Promise<Answer> {
    const { key, line: name } = home;
    let isCalled = false;
    let wake = () => {};
    const entry: Entry<Item, Answer> = {
      item,
      bytes,
      call: () => {
        isCalled = true;
        wake();
      },
    };
    const { line, acquisition } = this.#named(name, key);
    if (!line.isIdle && line.waiting >= this.#room) throw heldBehind(key, line.waiting, home.ttl, home.wait);
    line.arrive(entry);
    this.#callers++;
    const deafen = onAbort(signals, entry.call);
    const { look } = pace(home);
    try {
      // How long there was no sign of life. The first look does not count: a host that stood still
      // ends a driver's timers no sooner than ours.
      for (let signs = -1, quiet = -1, hasWaited = false; ; hasWaited = true) {
        line.passOver(signs, quiet);
        if (entry.outcome) return settled(entry.outcome);
        const over = signals.find((signal) => signal?.aborted);
        if (over) throw aborted(over.reason, line.ahead(entry) < 0, key);
        const left = Math.max(giveUp - performance.now(), 0);
        const turn = hasWaited && left === 0 ? undefined : line.drive(entry, this.#bound);
        if (turn) {
          turn.showsWithin = look;
          for (const watcher of line.newWatchers()) watcher.call();
          this.#drive({ line, turn, lock: home.patient(Math.ceil(left)), giveUp, home, acquisition });
        }
        if (left === 0 && this.#late !== undefined) {
          // The last nap may be a little shorter than a look.
          if (quiet >= 0) line.passOver(signs, Infinity);
          return this.#late;
        }
        const ahead = line.ahead(entry);
        if (ahead >= 0 && left === 0) throw heldBehind(key, ahead, home.ttl, home.wait);
        if (line.signs !== signs) [signs, quiet] = [line.signs, -1];
        // A caller in a turn may have to wait again.
        const nap = left === 0 ? look : Math.min(quiet >= 0 || line.watches(entry) ? look : look * SELDOM, left, LONGEST_TIMER);
        const woken = deferred();
        wake = woken.resolve;
        // A host cancels a request as hung if it waits only for another request.
        const timer = setTimeout(wake, nap);
        if (isCalled) wake();
        await woken.promise;
        // Cleared here, and not where it was woken: that may be in another request.
        clearTimeout(timer);
        quiet = isCalled ? -1 : quiet < 0 ? 0 : quiet + nap;
        isCalled = false;
      }
    } finally {
      this.#callers--;
      deafen();
      line.leave(entry);
      if (line.isIdle) this.#forget(name, line);
    }
  }

  /**
   * How many items of a name may wait. Once all callers are five times as many, each name has a
   * share of as many again. So ten times as many wait at most, and names with many items leave
   * places to names with few. One may always wait.
   */
  get #room(): number {
    const { waiting } = this.#bound;
    return this.#callers < 5 * waiting ? waiting : Math.min(waiting, Math.max((5 * waiting) / this.#byName.size, 1));
  }

  #drive(driven: Driven<Item, Answer>): void {
    const { line, turn, home } = driven;
    const beat = setInterval(() => line.beat(turn) || clearInterval(beat), pace(home).beat);
    const orphan = line.takeOrphan();
    // Whatever the outcome of its commit, nobody needs that lease any more.
    if (orphan !== undefined) driven.lock.resume(orphan).giveBack();
    const done = this.#work(driven)
      .catch((error: unknown) => {
        if (turn.proof === undefined) line.end(turn, turn.entries.map(() => ({ error })));
      })
      .finally(() => {
        clearInterval(beat);
        line.abandon(turn);
        if (line.isIdle) this.#forget(home.line, line);
        driven.lock.free();
      })
      .then(() => handOn(line));
    void inBackground(done, home.maker);
  }

  #named(name: string, key: string): Pick<Driven<Item, Answer>, "line" | "acquisition"> {
    const gone = (mayHaveRun: boolean) => unavailable("the caller that drove this turn of the group vanished", mayHaveRun, key);
    const named = this.#byName.get(name) ?? { line: new Gather<Item, Answer>(gone), acquisition: new Acquisition() };
    this.#byName.set(name, named);
    return named;
  }

  /** Unless it was forgotten before, and there is another by now. */
  #forget(name: string, line: Gather<Item, Answer>): void {
    const named = this.#byName.get(name);
    if (named?.line !== line) return;
    this.#byName.delete(name);
    named.acquisition.free();
  }
}

/** So much less often looks who does not watch. */
const SELDOM = 8;

/** A host that is alive looks at once, in milliseconds. */
const COMES_WITHIN = 10;

/**
 * Makes sure that a caller drives the next turn. One that hung up does not notice that it is
 * called. So each time that nobody comes, twice as many are called.
 */
async function handOn<Item, Answer>(line: Gather<Item, Answer>): Promise<void> {
  for (let [from, to] = [1, 3]; line.idle(0, 1).length > 0; [from, to] = [to, to * 2]) {
    await new Promise((resolve) => setTimeout(resolve, COMES_WITHIN));
    const next = line.idle(from, to);
    if (next.length === 0) return;
    for (const entry of next) entry.call();
  }
}

/**
 * How often a driver shows that it is alive, and how often the others look. Three looks without a
 * sign report it as gone, so a vanished driver costs them less than the time-out of its requests,
 * and up to four more if all that watch have vanished with it. A driver whose requests may take
 * longer than theirs has longer to show itself.
 */
function pace({ maker: { requestTimeout } }: Home): { readonly beat: number; readonly look: number } {
  const limit = Math.min(Math.max(requestTimeout, 100), LONGEST_TIMER);
  return { beat: limit / 8, look: limit / 4 };
}

function settled<Answer>(outcome: Outcome<Answer>): Answer {
  if ("error" in outcome) throw outcome.error;
  return outcome.answer;
}
