// What the items of a turn read, in one request.
import { type Command, isSame } from "./command.js";
import type { CommandFailedError } from "./errors.js";
import { commandFailed } from "./make-error.js";
import type { Reply } from "./raw.js";

/** An item, with what must be known to decide it. */
export interface Asked<Item> {
  readonly item: Item;
  readonly reads: readonly Command[];
  /** What a look found. */
  looked?: readonly Reply[];
}

/** What stands for a reply that is too large for an answer; for which others left no room. */
const TOO_LARGE = "reply over 1 MiB";
const NO_ROOM = "reply over 1 MiB, with others";

/** The reads of several items. What all of them read at the same place is there once. */
export class Reads {
  readonly commands: Command[] = [];
  /** For each of them, what a look found, if any did. */
  readonly looked: Array<Reply | undefined> = [];
  /** Those that several items have. */
  readonly #shared = new Set<number>();
  /** For each item, where its reads are. */
  #places: readonly number[][];

  constructor(items: ReadonlyArray<Asked<unknown>>) {
    const places: number[][] = [];
    for (const { reads, looked } of items) {
      const first = places[0];
      const place = (read: Command, at: number) => {
        const shared = first?.[at];
        if (shared !== undefined && isSame(this.commands[shared]!, read)) {
          this.#shared.add(shared);
          return shared;
        }
        this.looked.push(looked?.[at]);
        return this.commands.push(read) - 1;
      };
      places.push(reads.map(place));
    }
    this.#places = places;
  }

  /** Of how many items they are. */
  get items(): number {
    return this.#places.length;
  }

  /** Whether several items have the read at this place. */
  isShared(place: number): boolean {
    return this.#shared.has(place);
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

  /** What `some` of them found. */
  found(some: readonly Command[], replies: readonly Reply[]): Reply[] {
    return some.map((read) => replies[this.commands.indexOf(read)] ?? null);
  }
}

/** The error of the first of these commands that failed, by the replies to all of them. */
export function failed(commands: readonly Command[], replies: readonly Reply[], lock: string): CommandFailedError | undefined {
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
export function executed(replies: readonly Reply[]): Reply[] {
  return replies.map((reply) => ([TOO_LARGE, NO_ROOM].includes(errorIn(reply) ?? "") ? null : reply));
}

function copied(reply: Reply): Reply {
  return typeof reply === "object" && reply !== null ? structuredClone(reply) : reply;
}
