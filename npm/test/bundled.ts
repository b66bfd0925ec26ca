// In Node, in one file with the package. esbuild makes two: one as users do, for which it takes the
// ES module, and one with conditions of its own, for which it takes CommonJS. Beside that lies
// another build's `edgelock.wasm`.
import { Client, HeldError } from "edgelock";
import { check, fails, runTests } from "./harness.js";

// esbuild puts the package in its place.
const required = require("edgelock") as typeof import("edgelock");
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const prefix = `${crypto.randomUUID().slice(0, 8)}:`;

const tests = {
  async a_bundle_has_all_that_a_lock_needs_and_both_kinds_of_modules_share_one_copy() {
    for (const one of [Client, required.Client]) {
      const lock = new one({ url, credential, prefix }).lock("a", { wait: 0 });
      const lease = await lock.acquire();
      const error = await fails("held", lock.acquire());
      check(error instanceof HeldError && error instanceof required.HeldError, String(error));
      await lease.release();
    }
  },
};

runTests(Object.entries(tests), console.log).then((passed) => process.exit(passed ? 0 : 1));
