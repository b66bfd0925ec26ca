// Decides the items of a turn, one after the other, and tells them what came of the writes.
import { bytesOf, type Command, fromRaw, toRaw } from "./command.js";
import type { Outcome } from "./gather.js";
import type { Driven } from "./lines.js";
import { invalidArgument, unavailable } from "./make-error.js";
import type { Reply } from "./raw.js";
import { type Asked, executed, failed, type Reads } from "./reads.js";
import { attempt, said, type Section } from "./section.js";

/** What a turn has decided. */
export interface Decided<Answer> {
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
export const NOTHING: Decided<never> = { places: [], outcomes: [], writes: [], owners: [], firstWrite: Infinity };

/** What the items of a turn are decided with. */
export interface Under {
  readonly reads: Reads;
  readonly replies: readonly Reply[];
  readonly maxBytes: number;
  readonly fence: number;
  /** Whether the rest is to wait for the next turn. */
  readonly isLate: () => boolean;
}

/** How many decisions of a turn are made again: a crowd of refused items keeps no host busy. */
const AGAIN = 1_024;

/**
 * Decides the items, until their writes are too many for one request, or a quarter of the ttl is
 * left. Items for whose replies others left no room wait for the next turn.
 *
 * An item is never a reason not to decide the others: if its decision throws, its writes cannot be
 * sent, or they are too large for a turn with others, the others are decided again as if it was not
 * there, since it may have changed their state. If that leaves none, the first one has the turn. If
 * there are many such items, those behind them wait for the next turn.
 */
export function decide<Item, Answer, State>(
  section: Section<Item, Answer, State>,
  driven: Driven<Asked<Item>, Answer>,
  items: readonly Asked<Item>[],
  under: Under,
): Decided<Answer> {
  const refused = new Map<number, Outcome<Answer>>();
  const large = new Set<number>();
  let again = 0;
  for (let present = items; ; ) {
    const decided = decideAll(section, driven, present, under, refused, large);
    if (typeof decided === "number") {
      again += decided;
      if (again > AGAIN) present = items.slice(0, Math.max(decided, 1));
      continue;
    }
    if (decided.outcomes.length > 0) return decided;
    present = items.slice(0, 1);
    large.clear();
  }
}

/**
 * Decides the items except those at the `large` places. Those at the `refused` ones are told so.
 * If one more is found to be such an item, the result is its place.
 */
function decideAll<Item, Answer, State>(
  section: Section<Item, Answer, State>,
  driven: Driven<Asked<Item>, Answer>,
  items: readonly Asked<Item>[],
  under: Under,
  refused: Map<number, Outcome<Answer>>,
  large: Set<number>,
): Decided<Answer> | number {
  const { line, turn, home } = driven;
  const { reads, replies, maxBytes } = under;
  const checked = (commands: readonly Command[]) => {
    const raw = toRaw(commands);
    home.checkWrites(raw);
    return fromRaw(raw);
  };
  const state = said(section.begin?.(), "begin") as State;
  // Nothing else can be changed.
  const isShared = Object(state) === state;
  const places: number[] = [];
  const outcomes: Outcome<Answer>[] = [];
  const writes: Command[] = [];
  const owners: number[] = [];
  let written = 0;
  let firstWrite = Infinity;
  for (let at = 0; at < items.length; at++) {
    const count = outcomes.length;
    if (count > 0 && (written >= maxBytes || under.isLate())) break;
    if (large.has(at) || (at > 0 && reads.lackRoom(at, replies))) continue;
    let isTooLarge = false;
    let mayHaveChanged = false;
    const decideOne = (): Answer => {
      const found = reads.replies(at, replies, home.key);
      mayHaveChanged = isShared;
      const decision = said(section.decide(items[at]!.item, found, state, under.fence), "decide");
      if (typeof decision !== "object" || decision === null) throw invalidArgument("decide says { answer, writes }");
      const { answer } = decision;
      // Invalid writes of one item must not fail the others.
      const own = checked(decision.writes ?? []);
      const bytes = bytesOf(own);
      const isLarge = bytes > maxBytes;
      isTooLarge = isLarge && items.length > 1;
      if (isLarge) line.isLarge(turn, at, bytes, isTooLarge ? 0 : Math.ceil(bytes / Math.max(maxBytes, 1)));
      if (own.length > 0) firstWrite = Math.min(firstWrite, count);
      written += bytes;
      for (const write of own) owners.push(count), writes.push(write);
      return answer;
    };
    const outcome = refused.get(at) ?? attempt(decideOne);
    if (isTooLarge) return large.add(at), at;
    if (mayHaveChanged && "error" in outcome) return refused.set(at, outcome), at;
    places.push(at);
    outcomes.push(outcome);
  }
  if (outcomes.length === 0) return NOTHING;
  const end = checked(said(section.end?.(state), "end") ?? []);
  if (end.length > 0) firstWrite = 0;
  writes.push(...end);
  return { places, outcomes, writes, owners, firstWrite };
}

/** The outcomes of the items whose answers depend on a commit, by the replies to its commands. */
export function committed<Answer>({ outcomes, writes, owners, firstWrite }: Decided<Answer>, said: readonly Reply[], lock: string): Outcome<Answer>[] {
  const replies = executed(said);
  const behind = outcomes.slice(firstWrite);
  const unknown = (what: string) => behind.map(() => ({ error: unavailable(what, true, lock) }));
  if (replies.length < writes.length) return unknown("a reply to each write is missing");
  const ofAll = failed(writes.slice(owners.length), replies.slice(owners.length), lock);
  if (ofAll) return unknown(`written for all items of the turn, ${ofAll.message}`);
  return behind.map((outcome, at) => {
    const from = owners.indexOf(firstWrite + at);
    if (from < 0) return outcome;
    const to = owners.lastIndexOf(firstWrite + at) + 1;
    const error = failed(writes.slice(from, to), replies.slice(from, to), lock);
    return error ? { error } : outcome;
  });
}
