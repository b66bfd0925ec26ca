// Node as a host that makes calls. It must run with `--expose-gc`.
import { wasmBytes } from "./memory.js";
import { maker } from "./calls.js";
import type { Host } from "./growth.js";
import { sleep } from "./harness.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;

export const node: Host = {
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
