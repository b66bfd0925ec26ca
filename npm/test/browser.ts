// The suites in a browser, started by its page. The examples are not among them, since they are for
// servers.
import { contract } from "./contract.js";
import { deadlines } from "./deadlines.js";
import { debounces } from "./debounce.js";
import { fetches } from "./fetches.js";
import { group } from "./group.js";
import { type Bridge, run } from "./harness.js";
import { handlers } from "./idempotent.js";
import { javascript } from "./javascript.js";
import { limits } from "./limits.js";
import { multis } from "./multi.js";
import { onces } from "./once.js";
import { readWrites } from "./read_write.js";
import { semaphores } from "./semaphore.js";
import { throttles } from "./throttle.js";
import { waiting } from "./waiting.js";

Object.assign(globalThis, {
  runSuites(bridge: Bridge, print: (line: string) => void): Promise<boolean> {
    return run(bridge, [contract, semaphores, readWrites, multis, onces, throttles, debounces, handlers, javascript, fetches, limits, waiting, group], print, deadlines);
  },
});
