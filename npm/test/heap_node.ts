// What calls leave behind in Node, which must run with `--expose-gc`, and as on a host without
// finalizers.
import { wasmBytes } from "./memory.js";
import { Client } from "edgelock";
import { FINALIZED, KINDS, prepare } from "./calls.js";
import { runAll } from "./growth.js";
import { sleep } from "./harness.js";

// Workers of before 2025-05-05 have none. Node itself wants one, so it is missing only while the
// module is made ready.
const { FinalizationRegistry: registry } = globalThis;
Reflect.deleteProperty(globalThis, "FinalizationRegistry");
new Client({ url: "https://bridge.example", credential: "credential" });
globalThis.FinalizationRegistry = registry;

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const ready = new Map<string, Awaited<ReturnType<typeof prepare>>>();

const host = {
  async make(kind: string, count: number) {
    const make = ready.get(kind) ?? (await prepare({ url, credential }, kind));
    ready.set(kind, make);
    await make(count);
  },
  async inUse() {
    // What is let go of in one turn is garbage in the next.
    for (let times = 0; times < 3; times++) {
      gc?.();
      await sleep(5);
    }
    return { javascript: process.memoryUsage().heapUsed, wasm: wasmBytes() };
  },
};

const kinds = new Map([...KINDS].filter(([kind]) => !FINALIZED.includes(kind)));
runAll(host, kinds).then((passed) => process.exit(passed ? 0 : 1));
