// What calls leave behind in Node: of the kinds that need finalizers, if it is told so, else of the
// others, as in a host without finalizers.
// It must run with `--expose-gc`.
import { wasmBytes } from "./memory.js";
import { Client } from "edgelock";
import { FINALIZED, KINDS, maker } from "./calls.js";
import { runAll } from "./growth.js";
import { sleep } from "./harness.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const node = {
  make: maker({ url, credential }),
  async inUse() {
    // What is released in one turn is garbage in the next.
    for (let times = 0; times < 3; times++) {
      gc?.();
      await sleep(5);
    }
    return { javascript: process.memoryUsage().heapUsed, wasm: wasmBytes() };
  },
};
const isFinalized = process.argv[2] === "finalized";
if (!isFinalized) {
  // Older Workers have no finalizers. Node needs them, so they are missing only here.
  const { FinalizationRegistry: registry } = globalThis;
  Reflect.deleteProperty(globalThis, "FinalizationRegistry");
  new Client({ url: "https://bridge.example", credential: "credential" });
  globalThis.FinalizationRegistry = registry;
}
const kinds = new Map([...KINDS].filter(([kind]) => FINALIZED.includes(kind) === isFinalized));
runAll(node, kinds).then((passed) => process.exit(passed ? 0 : 1));
