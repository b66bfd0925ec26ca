// What calls leave behind: how much more memory a host has in use after very many of them.
import { check, runTests } from "./harness.js";

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

/**
 * How often as much must be left. A busy host may have had more under way at once than before, and a module's memory never shrinks. But
 * what each call leaves is left each time.
 */
const ROUNDS = 3;

/** How many calls of each kind `cargo xtask heap` asks for. */
const { EDGELOCK_HEAP_CALLS: asked } = process.env;

/** For each kind. */
const LIMIT_MS = asked === undefined ? 300_000 : 3_600_000;

/** Tests each kind of call, of which so many are made unless others are asked for; whether all passed. */
export function runAll(host: Host, kinds: ReadonlyMap<string, number>): Promise<boolean> {
  const tests = [...kinds].map(([kind, usual]): [name: string, test: () => Promise<void>] => {
    const calls = Number(asked ?? usual);
    return [`nothing_is_left_of_${kind.replace(/\W+/g, "_")}`, () => leavesNothing(host, kind, calls)];
  });
  return runTests(tests, console.log, LIMIT_MS);
}

async function leavesNothing(host: Host, kind: string, calls: number): Promise<void> {
  let before = await make(host, kind, Math.min(WARM_UP, calls / 2));
  for (let round = 1; ; round++) {
    const after = await make(host, kind, calls);
    if (asked !== undefined) {
      const inUse = (what: keyof Usage) => `${kb(before[what])} kB of ${what} before, ${kb(after[what])} kB after`;
      console.log(`${kind}: ${calls} calls, ${inUse("javascript")}, ${inUse("wasm")}`);
    }
    const left = (what: keyof Usage) => after[what] - before[what];
    if (left("javascript") < LIMIT.javascript && left("wasm") < LIMIT.wasm) return;
    check(round < ROUNDS, `${calls} calls leave ${left("javascript")} bytes of JavaScript and ${left("wasm")} of wasm, ${round} times`);
    before = after;
  }
}

const kb = (bytes: number): string => (bytes / 1_000).toFixed(0);

/** What is in use after so many calls. */
async function make(host: Host, kind: string, calls: number): Promise<Usage> {
  for (let left = calls; left > 0; left -= BATCH) {
    await host.make(kind, Math.min(left, BATCH));
    await host.inUse();
  }
  return host.inUse();
}
