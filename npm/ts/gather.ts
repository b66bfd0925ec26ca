// Which items of one name are decided in which turn, and which caller drives it. It decides; it
// neither sends, nor waits, nor knows the time. The counterpart of src/group/gather.rs, which gives
// the reasons.

/** A caller that waits with its item. */
export interface Entry<Item, Answer> {
  readonly item: Item;
  /** Of its reads, or of its writes if these are found to be too large for a turn with others. */
  bytes: number;
  outcome?: Outcome<Answer>;
  /**
   * Its caller no longer waits. If the item is in a turn that has begun, it is decided there, else
   * never.
   */
  hasLeft?: boolean;
  /**
   * Calls the caller to look. It settles the caller's own promise, so the host continues where the
   * caller waits.
   */
  call(): void;
}

export type Outcome<Answer> = { readonly answer: Answer } | { readonly error: unknown };

/** A turn under way: first come, first decided. */
export interface Turn<Item, Answer> {
  readonly driver: Entry<Item, Answer>;
  /** How long its driver is silent at most, in milliseconds. */
  showsWithin: number;
  entries: readonly Entry<Item, Answer>[];
  /** Others for which it asked too, and which wait until it begins. */
  askedFor: readonly Entry<Item, Answer>[];
  /**
   * How many turns of others come before the next item that is too large for a turn with others, if
   * it is the turn of one.
   */
  owes: number;
  /** It has the lock, or was sent without it. From then on no item leaves it. */
  hasBegun: boolean;
  /** What proves its lease, once its commit is on its way. */
  proof?: string | undefined;
  /** What the line owed, and how many items a turn had at most, before it began. */
  before?: readonly [owed: number, most: number];
}

/** What a turn takes at most. */
export interface Bound {
  readonly items: number;
  readonly bytes: number;
  /** How many may wait for one. */
  readonly waiting: number;
}

/** Enough that one is left if some hung up: their hosts may let them do nothing more. */
const WATCHERS = 8;

export class Gather<Item, Answer> {
  #waiting: Entry<Item, Answer>[] = [];
  #turn: Turn<Item, Answer> | undefined;
  /** How many items a turn has at most, since the replies for more were too large. */
  #most = Infinity;
  /** How many turns of others come before the next item that is too large for one of them. */
  #owed = 0;
  #signs = 0;
  /** What proves a lease whose driver went away, for the next driver to give it back. */
  #orphan: string | undefined;
  readonly #gone: (mayHaveRun: boolean) => unknown;

  /** `gone` makes the error for those whose driver went away. */
  constructor(gone: (mayHaveRun: boolean) => unknown) {
    this.#gone = gone;
  }

  /** Whether nobody asks for this name. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#turn === undefined;
  }

  /** How often there was a sign of life. */
  get signs(): number {
    return this.#signs;
  }

  /** Whether others are to have a turn before the next item that is too large for theirs. */
  get owes(): boolean {
    return this.#owed > 0;
  }

  /** How many wait for a turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many items are in the turn, or wait. */
  get here(): number {
    return (this.#turn?.entries.length ?? 0) + this.#waiting.length;
  }

  arrive(entry: Entry<Item, Answer>): void {
    if (this.isIdle) this.#signs++;
    this.#waiting.push(entry);
  }

  /**
   * How many wait before this one, or are in its turn; -1 once that has begun, and for the driver,
   * whose acquisition has an end of its own.
   */
  ahead(entry: Entry<Item, Answer>): number {
    const turn = this.#turn;
    const isInTurn = turn !== undefined && !turn.hasBegun && turn.driver !== entry && turn.entries.includes(entry);
    return (isInTurn ? turn.entries : this.#waiting).indexOf(entry);
  }

  /**
   * Goes on without the driver of the turn under way, if it has shown no sign of life since
   * `signs`, and should have by now.
   */
  passOver(signs: number, quiet: number): void {
    if (this.#turn && this.#signs === signs && this.#turn.showsWithin <= quiet) this.abandon(this.#turn);
  }

  /**
   * A turn for this caller to drive, if it waits and no turn is under way. The first items are in
   * it, even if its own is not. One that is too large for a turn with others has one to itself.
   * Then come as many turns of others as would take its bytes.
   */
  drive(entry: Entry<Item, Answer>, bound: Bound): Turn<Item, Answer> | undefined {
    if (this.#turn || !this.#waiting.includes(entry)) return undefined;
    this.#signs++;
    const isLarge = ({ bytes }: { readonly bytes: number }) => bytes > bound.bytes;
    const first = this.#waiting[0]!;
    const own = isLarge(first) && (this.#owed === 0 || this.#waiting.every(isLarge));
    const entries = own ? [first] : this.#fitting([], bound);
    this.#take(entries);
    return (this.#turn = { driver: entry, showsWithin: 0, entries, askedFor: [], owes: 0, hasBegun: false });
  }

  /**
   * The items for which this turn asks: its own, and the waiting ones that have room in it. The
   * latter wait on until it begins. Nothing if a caller has reported the driver as gone.
   */
  ask(turn: Turn<Item, Answer>, bound: Bound): Item[] | undefined {
    if (this.#turn !== turn) return undefined;
    turn.entries = turn.entries.filter(({ hasLeft }) => !hasLeft);
    this.#letOthersGoFirst(turn, bound);
    turn.askedFor = this.#fitting(turn.entries, bound);
    return [...turn.entries, ...turn.askedFor].map(({ item }) => item);
  }

  /**
   * An item that has the turn to itself gives it to others, if they have come meanwhile and had
   * fewer turns since the last such item than they are to have.
   */
  #letOthersGoFirst(turn: Turn<Item, Answer>, bound: Bound): void {
    const own = turn.entries.find(({ bytes }) => bytes > bound.bytes);
    turn.owes = own ? Math.ceil(own.bytes / Math.max(bound.bytes, 1)) : 0;
    const others = this.#fitting([], bound);
    if (turn.owes === 0 || this.#owed === 0 || others.length === 0) return;
    this.putBack(turn, () => false);
    this.#take(others);
    [turn.entries, turn.owes] = [others, 0];
  }

  /**
   * This turn has the lock. It drops the items whose callers have left. It takes those of the other
   * items that it asked for last and that still wait. Returns which it has of all that it asked
   * for; nothing if a caller has reported the driver as gone.
   */
  begin(turn: Turn<Item, Answer>): boolean[] | undefined {
    if (!this.beat(turn)) return undefined;
    turn.before = [this.#owed, this.#most];
    // One item may have had the large reply. If not, a later turn finds out.
    this.#most += Math.floor(this.#most / 8) + 1;
    turn.hasBegun = true;
    this.#owed = turn.owes > 0 ? turn.owes : Math.max(this.#owed - 1, 0);
    // Whoever has left waits no more.
    const has = [...turn.entries, ...turn.askedFor].map(({ hasLeft }) => !hasLeft);
    this.#take(turn.askedFor);
    turn.entries = [...turn.entries, ...turn.askedFor].filter((_, at) => has[at]);
    turn.askedFor = [];
    return has;
  }

  /**
   * The waiting items that have room beside `entries`. Those behind one that is too large for a
   * turn with others do not wait for it.
   */
  #fitting(entries: readonly Entry<Item, Answer>[], bound: Bound): Entry<Item, Answer>[] {
    let bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const most = Math.min(bound.items, this.#most) - entries.length;
    const fitting: Entry<Item, Answer>[] = [];
    for (const entry of this.#waiting) {
      if (entry.bytes > bound.bytes) continue;
      bytes += entry.bytes;
      if (fitting.length >= most || bytes > bound.bytes) break;
      fitting.push(entry);
    }
    return fitting;
  }

  #take(entries: readonly Entry<Item, Answer>[]): void {
    const taken = new Set(entries);
    this.#waiting = this.#waiting.filter((entry) => !taken.has(entry));
  }

  /**
   * The replies for `asked` items were too large: all of them wait again, for turns of half as
   * many. Whether that makes a difference.
   */
  shrink(turn: Turn<Item, Answer>, asked: number): boolean {
    if (!this.beat(turn) || asked < 2) return false;
    this.#most = Math.floor(asked / 2);
    this.putBack(turn, () => false);
    return true;
  }

  /**
   * The writes of the item at this place of the turn are too large for a turn with others. If it
   * has this one to itself, that owes others so many turns.
   */
  isLarge(turn: Turn<Item, Answer>, at: number, bytes: number, owes: number): void {
    const entry = turn.entries[at];
    if (this.#turn === turn && entry) entry.bytes = Math.max(entry.bytes, bytes);
    if (owes > 0) this.#owed = owes;
  }

  /** A lease that whoever drives is to give back first. */
  takeOrphan(): string | undefined {
    const orphan = this.#orphan;
    this.#orphan = undefined;
    return orphan;
  }

  /** The driver of this turn is alive. Whether it still drives it. */
  beat(turn: Turn<Item, Answer>): boolean {
    if (this.#turn !== turn) return false;
    this.#signs++;
    return true;
  }

  /** Tells the first of those in the turn what they come to. */
  answer(turn: Turn<Item, Answer>, outcomes: readonly Outcome<Answer>[]): void {
    if (this.#turn !== turn) return;
    const told = turn.entries.slice(0, outcomes.length);
    turn.entries = turn.entries.slice(outcomes.length);
    told.forEach((entry, at) => tell(entry, outcomes[at]!));
  }

  /**
   * Lets items of the turn wait again, ahead of all others, except those that are kept, by their
   * places in it.
   */
  putBack(turn: Turn<Item, Answer>, keeps: (at: number) => boolean): void {
    if (this.#turn !== turn) return;
    this.#waiting.unshift(...turn.entries.filter(({ hasLeft }, at) => !keeps(at) && !hasLeft));
    turn.entries = turn.entries.filter((_, at) => keeps(at));
  }

  /** Lets all items of the turn wait again except its driver's, whose wait is over. */
  putBackOthers(turn: Turn<Item, Answer>): void {
    this.putBack(turn, (at) => turn.entries[at] === turn.driver);
  }

  /**
   * The commit of the rest of the turn is about to be sent. Returns whether it may be: not if a
   * caller has reported the driver as gone.
   */
  commit(turn: Turn<Item, Answer>, proof: string): boolean {
    if (!this.beat(turn)) return false;
    turn.proof = proof;
    return true;
  }

  /** Nothing was written for this turn after all. It goes on as before it began. */
  retreat(turn: Turn<Item, Answer>): void {
    if (this.#turn !== turn || !turn.before) return;
    [turn.proof, turn.hasBegun] = [undefined, false];
    [this.#owed, this.#most] = turn.before;
  }

  /** Ends the turn, and tells those that are left in it. */
  end(turn: Turn<Item, Answer>, outcomes: readonly Outcome<Answer>[]): void {
    if (!this.beat(turn)) return;
    this.#turn = undefined;
    // The next turn comes first, since it has a round trip ahead.
    this.#waiting[0]?.call();
    turn.entries.forEach((entry, at) => tell(entry, outcomes[at]!));
  }

  /** The driver of this turn has gone away, if the turn is not over. */
  abandon(turn: Turn<Item, Answer>): void {
    if (this.#turn !== turn) return;
    this.#turn = undefined;
    const { proof, driver, entries } = turn;
    if (proof === undefined) this.#waiting.unshift(...entries.filter((entry) => entry !== driver && !entry.hasLeft));
    this.#orphan = proof ?? this.#orphan;
    for (const entry of entries) {
      // The driver too. Otherwise a host that lets no turn end would have turns begun for ever.
      if (proof !== undefined || entry === driver) tell(entry, { error: this.#gone(proof !== undefined) });
    }
    this.#waiting[0]?.call();
  }

  /**
   * Whether this caller looks often whether the driver is alive. A timer of a host costs far more
   * than a look, so of a crowd only the first ones do, of the turn and of those that wait.
   */
  watches(entry: Entry<Item, Answer>): boolean {
    const isFirst = (entries: readonly Entry<Item, Answer>[]) => entries.slice(0, WATCHERS).includes(entry);
    return isFirst(this.#waiting) || isFirst(this.#turn?.entries ?? []);
  }

  /** Those that wait and watch now, since the turn took others. */
  newWatchers(): readonly Entry<Item, Answer>[] {
    const taken = this.#turn?.entries.length ?? 0;
    return this.#waiting.slice(Math.max(WATCHERS - taken, 0), WATCHERS);
  }

  /**
   * The callers that wait for a turn, from one place of the queue to another; nothing if a turn has
   * begun, or nobody waits there.
   */
  idle(from: number, to: number): readonly Entry<Item, Answer>[] {
    return this.#turn ? [] : this.#waiting.slice(from, to);
  }

  /** This caller no longer waits. Its item is not decided, unless its turn has begun. */
  leave(entry: Entry<Item, Answer>): void {
    entry.hasLeft = true;
    const at = this.#waiting.indexOf(entry);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (at === 0 && this.#turn === undefined) this.#waiting[0]?.call();
  }
}

function tell<Answer>(entry: Entry<unknown, Answer>, outcome: Outcome<Answer>): void {
  entry.outcome ??= outcome;
  entry.call();
}
