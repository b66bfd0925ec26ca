// What a turn decided, and what its items are told once it is written.
import type { Command } from "./command.js";
import type { Outcome } from "./gather.js";
import { unavailable } from "./make-error.js";
import type { Reply } from "./raw.js";
import { executed, failed } from "./reads.js";

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
