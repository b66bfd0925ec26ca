// A name in Redis, of whichever kind it is: who holds it, and how it is freed.
import { type Client, EdgelockError, type Holder, type Inspection, type Lock } from "edgelock";
import { randomUUID } from "node:crypto";
import { quoted } from "../quoted.js";

/** A name, and the kind that it was last found to be. */
export class Name {
  readonly #kinds: readonly Lock[];
  #kind = 0;
  /** How many kinds it was found not to be, one after the other. */
  #misses = 0;

  constructor(client: Client, readonly name: string) {
    // A read/write lock's writer is stored as a lock's holder is, so the first is for both.
    this.#kinds = [client.readWrite(name).read(), client.semaphore(name, 1), client.reentrant(name, randomUUID())];
  }

  /**
   * Asks once; nothing if it is of another kind, which the next call asks for. Throws if it is of
   * none.
   */
  async ask(): Promise<Inspection | undefined> {
    try {
      const inspection = await this.#lock.inspect();
      this.#misses = 0;
      return inspection;
    } catch (error) {
      if (!(error instanceof EdgelockError && error.code === "wrong_type") || ++this.#misses === this.#kinds.length) throw error;
      this.#kind = (this.#kind + 1) % this.#kinds.length;
      return undefined;
    }
  }

  /** Asks until the kind is found. */
  async inspect(): Promise<Inspection> {
    for (;;) {
      const inspection = await this.ask();
      if (inspection !== undefined) return inspection;
    }
  }

  /** Frees what was found last; whether anybody held it. */
  forceRelease(): Promise<boolean> {
    return this.#lock.forceRelease();
  }

  get #lock(): Lock {
    return this.#kinds[this.#kind]!;
  }
}

const SHOWN = 5;

/** As JSON has it: what is no safe number is text. */
const digits = (number: number | bigint | null): number | string | null => (typeof number === "bigint" ? String(number) : number);

/** What a machine is told. A token is as good as the lock, so there is none. */
export function plain(name: string, { holders, isRead, fence, waiters }: Inspection): object {
  const state = holders.length === 0 ? "free" : isRead ? "read" : "held";
  return { name, state, holders: holders.map(({ label, remaining, count }) => ({ label, remaining, count: digits(count) })), fence: digits(fence), waiters };
}

/** What a reader is told, in one line; without times left it changes only if something happens. */
export function summary({ holders, isRead, fence, waiters }: Inspection, withTimes = true): string {
  const by = holders.slice(0, SHOWN).map((holder) => described(holder, withTimes));
  if (holders.length > SHOWN) by.push(`${holders.length - SHOWN} more`);
  const state = holders.length === 0 ? "free" : `${isRead ? "read" : "held"} by ${by.join(" and ")}`;
  return [state, fence === null ? "no fence known" : `fence ${fence}`, waiters === 1 ? "1 waiter" : `${waiters} waiters`].join("; ");
}

function described({ label, remaining, count }: Holder, withTime: boolean): string {
  const who = label === null ? "a holder without a label" : quoted(label);
  const times = count > 1 ? `, ${count} times` : "";
  const left = remaining === null ? ", without end, as no lock of edgelock is: it may be data" : `, ${seconds(remaining)} left`;
  return `${who}${times}${withTime ? left : ""}`;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
