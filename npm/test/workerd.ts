// The suites in workerd, as `workerd test` runs them.
import { contract } from "./contract.js";
import { deadlines } from "./deadlines.js";
import { debounces } from "./debounce.js";
import { examples } from "./examples.js";
import { fetches } from "./fetches.js";
import { group } from "./group.js";
import { run } from "./harness.js";
import { handlers } from "./idempotent.js";
import { javascript } from "./javascript.js";
import { limits } from "./limits.js";
import { multis } from "./multi.js";
import { onces } from "./once.js";
import { readWrites } from "./read_write.js";
import { semaphores } from "./semaphore.js";
import { throttles } from "./throttle.js";
import { waiting } from "./waiting.js";

interface Env {
  readonly EDGELOCK_BRIDGE_URL: string;
  readonly EDGELOCK_BRIDGE_CREDENTIAL: string;
}

export default {
  async test(_controller: unknown, env: Env): Promise<void> {
    const bridge = { url: env.EDGELOCK_BRIDGE_URL, credential: env.EDGELOCK_BRIDGE_CREDENTIAL };
    if (!(await run(bridge, [contract, semaphores, readWrites, multis, onces, throttles, debounces, handlers, javascript, fetches, limits, waiting, group, examples], console.log, deadlines))) throw new Error("some tests failed");
  },
};
