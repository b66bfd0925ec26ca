// The contract in Node, over webdis.
import { Client } from "edgelock";
import { contract } from "./contract.js";
import { apart, check, equal, eventually, fails, Network, run, type Suite, take } from "./harness.js";
import { ofKinds } from "./suites.js";

const { env } = process;
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = env;
const { EDGELOCK_WEBDIS_URL = "", EDGELOCK_WEBDIS_USER: user = "", EDGELOCK_WEBDIS_PASSWORD: password = "" } = env;
const webdis = { url: EDGELOCK_WEBDIS_URL, user, password };

const [, promises] = apart(contract, "scripts_that_ask_for_key_locking_run_too");

const dialect: Suite = {
  async key_locking_is_refused_in_the_words_of_redis(stack) {
    const error = await fails("refused", stack.client({ keyLocking: true }).lock("a").tryAcquire());
    check(error.message.includes("allow-key-locking") && !error.isOutcomeUnknown, error.message);
  },

  async a_waiter_is_handed_the_lock_over_a_stream(stack) {
    const holder = await take(stack.lock("a"));
    const network = new Network();
    const waiter = stack.client(network).lock("a", { wait: 40_000 }).acquire();
    // It asked, and again when its subscription was confirmed.
    await eventually(() => network.seen.length === 2);
    await holder.release();
    const lease = await waiter;
    equal(network.seen.length, 2);
    await lease.release();
  },

  async a_wrong_password_is_unauthorized_and_shows_nowhere(stack) {
    const wrong = new Client({ url: webdis.url, webdis: { user, password: "wrong-credential" } });
    const error = await fails("unauthorized", wrong.lock(`${stack.mark}a`).tryAcquire());
    equal([error.isOutcomeUnknown, `${error.stack}`.includes("wrong-credential")], [false, false]);
  },
};

const beside = [promises, ...ofKinds];
run({ url, credential, webdis }, [dialect], console.log, beside).then((passed) => process.exit(passed ? 0 : 1));
