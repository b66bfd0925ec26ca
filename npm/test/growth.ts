// What calls leave behind: how much more memory a host uses after very many of them.
import { readdirSync, readFileSync } from "node:fs";
import { check, runTests } from "./harness.js";

/** A host that makes calls. */
export interface Host {
  /** Makes so many calls of a kind, and waits until nothing of them is under way. */
  make(kind: string, count: number): Promise<void>;
  /** The bytes in use after garbage collection: of JavaScript, and of the module's memory. */
  inUse(): Promise<Usage>;
}

export interface Usage {
  readonly javascript: number;
  readonly wasm: number;
}

/** What the bridge uses: bytes of memory, and descriptors. Each connection to it is one. */
interface InUse extends Usage {
  readonly bridge: number;
  readonly descriptors: number;
}

/** Enough calls for caches to be filled and code to be compiled. */
const WARM_UP = 1_500;
/** After so many calls garbage is collected, so that what finalizers release does not pile up. */
const BATCH = 2_500;

/**
 * How many bytes more may be in use, however many calls were made. A heap is never twice the same,
 * but differs by less than 250 kB. The limit is 200 bytes for each of 2,000 calls, which is a small
 * object with a promise. The smallest thing that a call could leave behind is a promise, or a
 * closure with its function, of 80 bytes: `cargo xtask heap` with 5,000 calls shows that.
 */
const LIMIT: InUse = { javascript: 400_000, wasm: 150_000, bridge: 8_000_000, descriptors: 40 };

/** A busy host may have had more under way than before. But a leak leaves something each time. */
const ROUNDS = 3;

/** What `cargo xtask heap` asks for. The bridge's process id is always given. */
const { EDGELOCK_HEAP_CALLS: asked, EDGELOCK_HEAP_KIND: part = "", EDGELOCK_BRIDGE_ID: bridge = "" } = process.env;

/** How often a long run reports its progress. */
const PROGRESS_MS = 5_000;

/** The limit for each kind. */
const LIMIT_MS = asked === undefined ? 300_000 : 3_600_000;

/** Whether nothing is left of any kind, with so many calls unless others are asked for. */
export function runAll(host: Host, kinds: ReadonlyMap<string, number>): Promise<boolean> {
  const tests = [...kinds].filter(([kind]) => kind.includes(part)).map(([kind, usual]): [name: string, test: () => Promise<void>] => {
    const calls = Number(asked ?? usual);
    return [`nothing_is_left_of_${kind.replace(/\W+/g, "_")}`, () => leavesNothing(host, kind, calls)];
  });
  return runTests(tests, console.log, LIMIT_MS);
}

async function leavesNothing(host: Host, kind: string, calls: number): Promise<void> {
  // In a long run V8 compiles a rare path as late as after 100,000 calls of a mix.
  let before = await make(host, kind, Math.min(Math.max(WARM_UP, calls / 10), calls / 2));
  for (let round = 1; ; round++) {
    const after = await make(host, kind, calls);
    if (asked !== undefined) {
      const parts = (["javascript", "wasm", "bridge"] as const).map((what) => `${kb(before[what])} kB of ${what} before, ${kb(after[what])} kB after`);
      console.log(`${kind}: ${calls} calls, ${parts.join(", ")}; ${before.descriptors} descriptors before, ${after.descriptors} after`);
    }
    const left = (what: keyof InUse) => after[what] - before[what];
    const grown = (Object.keys(LIMIT) as Array<keyof InUse>).filter((what) => left(what) >= LIMIT[what]);
    if (grown.length === 0) return;
    check(round < ROUNDS, `${calls} calls leave ${grown.map((what) => `${left(what)} of ${what}`).join(" and ")}, ${round} times`);
    before = after;
  }
}

const kb = (bytes: number): string => (bytes / 1_000).toFixed(0);

/** What is in use after so many calls. */
async function make(host: Host, kind: string, calls: number): Promise<InUse> {
  let toldAt = performance.now();
  for (let left = calls; left > 0; left -= BATCH) {
    await host.make(kind, Math.min(left, BATCH));
    const inUse = await host.inUse();
    if (asked === undefined || performance.now() - toldAt < PROGRESS_MS) continue;
    toldAt = performance.now();
    console.log(`  ${kind}: ${Math.max(left - BATCH, 0)} calls are left, ${kb(inUse.javascript)} kB of javascript`);
  }
  return { ...(await host.inUse()), ...ofBridge() };
}

/** Zeros if the system does not show it. */
function ofBridge(): Omit<InUse, keyof Usage> {
  try {
    const [, resident = NaN] = readFileSync(`/proc/${bridge}/statm`, "utf8").split(" ").map(Number);
    return { bridge: resident * 4_096, descriptors: readdirSync(`/proc/${bridge}/fd`).length };
  } catch {
    return { bridge: 0, descriptors: 0 };
  }
}
