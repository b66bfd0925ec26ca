// The suites in workerd, as `workerd test` runs them.
import { examples } from "./examples.js";
import { run } from "./harness.js";
import { alone, beside } from "./suites.js";

interface Env {
  readonly EDGELOCK_BRIDGE_URL: string;
  readonly EDGELOCK_BRIDGE_CREDENTIAL: string;
}

export default {
  async test(_controller: unknown, env: Env): Promise<void> {
    const bridge = { url: env.EDGELOCK_BRIDGE_URL, credential: env.EDGELOCK_BRIDGE_CREDENTIAL };
    if (!(await run(bridge, [...alone, examples], console.log, beside))) throw new Error("some tests failed");
  },
};
