// What the last turn of a name left behind, by which the next one guesses what it will read. The
// counterpart of src/group/seen.rs, which gives the reasons.
import { bytesOf, type Command, type Word } from "./command.js";
import type { Left } from "./lock.js";
import type { Reply } from "./raw.js";
import type { Reads } from "./reads.js";

/** Of so many names it knows something. */
const NAMES = 64;

/** So many reads of a turn are made again behind its writes, at most. */
const SHARED = 8;

/** A turn whose shared reads find more takes the lock: that would go there and back. */
const BYTES = 4096;

/** What is known for so long, in milliseconds, is not expected any more. */
const OLD = 600_000;

/** For so long the next turn waits for those whom the last one answered, in milliseconds. */
const COME_BACK_WITHIN = 3;

/**
 * While another isolate writes, too, the next turn lets it go first: for this part of the time that
 * the last one took, but so many milliseconds at most.
 */
const FOR_RIVALS = [3, 10] as const;

/** Behind a guess that found what another isolate wrote, so many turns expect that to go on. */
const RIVALS = 3;

/** After a turn that met several others, so many more turns expect them. */
const CROWDED = 4;

/** The last turn of a name, as far as this isolate knows. */
interface Last {
  /** Redis's clock in microseconds, or a little earlier, at the time `at` of the own one. */
  redis: number;
  at: number;
  readonly found: Map<string, Reply | undefined>;
  readonly asked: ReadonlySet<string>;
  endedAt: number;
  /** How long that turn took. */
  took: number;
  /** So many turns let another isolate go first. */
  rivals: number;
  /** The last guesses were wrong, though what the reads found was known. */
  isInVain: boolean;
  /** Several others have turns of it, too: so many turns may meet fewer. */
  crowded: number;
  /** How many items were there when it ended: its own, and those that waited. */
  wereThere: number;
}

/** What a turn expects. */
export interface Expected {
  /** Redis's clock in microseconds, or a little earlier. */
  readonly redis: number;
  readonly found: readonly Reply[];
}

export class Seen {
  /** The last noted comes last; `null` for a name that reads too much. */
  readonly #names = new Map<string, Last | null>();

  /** What `reads` will find, if that can be guessed. */
  guess(name: string, reads: Reads): Expected | undefined {
    const last = this.#names.get(name);
    const since = performance.now() - (last?.at ?? -Infinity);
    if (!last || since > OLD) return undefined;
    const found = reads.commands.map((read, place) => [last.found.get(text(read)), reads.looked[place], ofNothing(read)].find((reply) => reply !== undefined));
    return found.every(isExact) ? { redis: Math.floor(last.redis + since * 1000), found } : undefined;
  }

  /**
   * Waits, just behind the end of a turn, while more than the items that are `here` may come at
   * once. With another isolate, it waits even if all are there.
   */
  async pause(name: string, here: () => number): Promise<void> {
    for (let ms = 0; ; ms++) {
      const last = this.#names.get(name);
      if (!last) return;
      const [part, longest] = FOR_RIVALS;
      const [most, within] = last.rivals > 0 ? [Infinity, Math.min(last.took / part, longest)] : [last.wereThere, COME_BACK_WITHIN];
      if (here() >= most || Math.max(ms, performance.now() - last.endedAt) >= within) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /**
   * Those of a turn's reads that the next turn will have, too: of several items, what they have in
   * common; of one, what the turn before it read. They are read again behind the writes.
   */
  inCommon(name: string, reads: Reads): Command[] {
    const before = this.#names.get(name);
    if (before === null) return [];
    const isCommon = (read: Command, place: number) =>
      isSmall(read) && (reads.isShared(place) || (before ? before.asked.has(text(read)) : reads.items === 1));
    return reads.commands.filter(isCommon).slice(0, SHARED);
  }

  /** At this time of Redis's `common` found that. */
  note(name: string, redis: number, common: readonly Command[], found: readonly Reply[], reads: Reads): void {
    const before = this.#names.get(name);
    if (before === null) return;
    const [oldest] = this.#names.keys();
    if (before === undefined && this.#names.size >= NAMES) this.#names.delete(oldest!);
    this.#names.delete(name);
    const last = {
      redis,
      at: performance.now(),
      found: new Map(common.map((read, at) => [text(read), found[at]])),
      asked: asked(reads),
      endedAt: 0,
      took: 0,
      rivals: before?.rivals ?? 0,
      isInVain: before?.isInVain ?? false,
      crowded: before?.crowded ?? 0,
      wereThere: 0,
    };
    this.#names.set(name, lengthOf(found) > BYTES ? null : last);
  }

  /** A guess was wrong: at this time of Redis's its reads found that. What else is known stays. */
  learn(name: string, redis: number, reads: Reads, found: readonly Reply[]): void {
    const last = this.#names.get(name);
    if (!last) return;
    [last.redis, last.at] = [redis, performance.now()];
    for (const [at, read] of reads.commands.entries()) {
      const known = text(read);
      if (!isExact(found[at])) last.found.delete(known);
      else if (last.found.has(known) && JSON.stringify(last.found.get(known)) !== JSON.stringify(found[at])) {
        last.found.set(known, found[at]);
        last.rivals = RIVALS;
      }
    }
  }

  /** The last holder of the lock left that. What else is known stays. */
  left(name: string, reads: Reads, left: Left): void {
    const known = left.reads.map((words) => JSON.stringify(words));
    const places = reads.commands.map((read) => known.indexOf(JSON.stringify(read.map(plain))));
    const common = reads.commands.filter((_, at) => places[at]! >= 0);
    const found = places.filter((place) => place >= 0).map((place) => left.found[place]!);
    const last = this.#names.get(name);
    if (!last) return this.note(name, left.at, common, found, reads);
    [last.redis, last.at] = [left.at, performance.now()];
    for (const [at, read] of common.entries()) last.found.set(text(read), found[at]);
  }

  /** Whether several others have turns of it, too. */
  isCrowded(name: string): boolean {
    return (this.#names.get(name)?.crowded ?? 0) > 0;
  }

  /** So many waited ahead of a turn that asked for the lock. */
  waitedBehind(name: string, ahead: number): void {
    const last = this.#names.get(name);
    if (last) last.crowded = ahead > 0 ? CROWDED : Math.max(last.crowded - 1, 0);
  }

  /** Whether the last turn that guessed was always wrong. */
  isInVain(name: string): boolean {
    return this.#names.get(name)?.isInVain ?? false;
  }

  wasInVain(name: string): void {
    const last = this.#names.get(name);
    if (last) last.isInVain = true;
  }

  /** Nothing is known of this name any more. */
  forget(name: string): void {
    this.#names.delete(name);
  }

  /** A guess that began then was right, and so many items are there. */
  ends(name: string, begunAt: number, here: number): void {
    const last = this.#names.get(name);
    if (!last) return;
    [last.endedAt, last.wereThere, last.isInVain] = [performance.now(), here, false];
    [last.took, last.rivals] = [last.endedAt - begunAt, Math.max(last.rivals - 1, 0)];
  }
}

const plain = (word: Word): string => String(typeof word === "object" ? word.key : word);

const text = (read: Command): string => JSON.stringify(read);

const asked = (reads: Reads): Set<string> => new Set(reads.commands.filter(isSmall).slice(0, SHARED).map(text));

/** About how many characters replies have. */
const lengthOf = (replies: readonly Reply[]): number => String(replies).length;

/** Whether a read may be kept, and be made twice. */
function isSmall(read: Command): boolean {
  return bytesOf([read]) <= BYTES / SHARED;
}

/** Whether this can be told to the module as it is. */
function isExact(reply: Reply | undefined): reply is Reply {
  return reply === null || typeof reply === "string" || typeof reply === "number" || (Array.isArray(reply) && reply.every(isExact));
}

/** What a read replies if nothing is stored. Nothing for a command that is not known here. */
function ofNothing([name, ...words]: Command): Reply | undefined {
  if (/^(H?GET|ZSCORE|ZRANK|LINDEX)$/i.test(name)) return null;
  if (/^(H?EXISTS|SISMEMBER|(STR|H|L)LEN|[SZ]CARD)$/i.test(name)) return 0;
  if (/^(H(GETALL|KEYS|VALS)|SMEMBERS|[LZ]RANGE)$/i.test(name)) return [];
  const several = /^(H?)MGET$/i.exec(name);
  return several ? words.slice(several[1]!.length).map(() => null) : undefined;
}
