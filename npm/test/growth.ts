// What calls leave behind: how much more memory a host has in use after very many of them.
import { check } from "./harness.js";

/** A host that makes calls. */
export interface Host {
  /** Makes that many calls of a kind, until nothing of them is under way. */
  make(kind: string, count: number): Promise<void>;
  /** Bytes in use once all garbage is collected: by JavaScript, and by the memory of the module. */
  inUse(): Promise<Usage>;
}

export interface Usage {
  readonly javascript: number;
  readonly wasm: number;
}

/** Until caches are filled and code is compiled, at most. */
const WARM_UP = 2_500;
/** Garbage is collected as often, so that what finalizers let go of does not pile up. */
const BATCH = 2_500;

/**
 * How many bytes more there may be, however many calls were made: a heap is never twice the same, though by less than 250 kB. That is
 * 80 bytes for each of 5,000 calls, about what the smallest takes that a call could forget, a promise or a closure with its callee.
 */
const LIMIT: Usage = { javascript: 400_000, wasm: 150_000 };

/** A test for each kind of call, of which so many are made. */
export function tests(host: Host, kinds: ReadonlyMap<string, number>): Array<[name: string, test: () => Promise<void>]> {
  return [...kinds].map(([kind, calls]) => [`nothing_is_left_of_${kind.replace(/\W+/g, "_")}`, () => leavesNothing(host, kind, calls)]);
}

async function leavesNothing(host: Host, kind: string, calls: number): Promise<void> {
  const before = await make(host, kind, Math.min(WARM_UP, calls / 2));
  const after = await make(host, kind, calls);
  for (const what of ["javascript", "wasm"] as const) {
    const left = after[what] - before[what];
    check(left < LIMIT[what], `${calls} calls leave ${left} bytes of ${what}`);
  }
}

/** What is in use after so many calls. */
async function make(host: Host, kind: string, calls: number): Promise<Usage> {
  for (let left = calls; left > 0; left -= BATCH) {
    await host.make(kind, Math.min(left, BATCH));
    await host.inUse();
  }
  return host.inUse();
}
