// A test in Deno, which may only talk to the bridge and, if that is allowed too, read some
// variables.
import { Client, GroupCommit } from "edgelock";
import { check, equal, fails, runTests } from "./harness.js";

declare const Deno: { readonly args: readonly string[]; readonly env: { get(name: string): string | undefined } };

const [url = "", credential = "", variables = ""] = Deno.args;
const prefix = `${crypto.randomUUID().slice(0, 8)}:`;
const stock = { key: `{${prefix}a}:stock` };

const withoutVariables = {
  async a_lock_needs_the_permission_to_talk_to_its_bridge_and_no_other() {
    const client = new Client({ url, credential, prefix });
    const [lease] = await client.lock("a").acquireAndRead([["GET", stock]]);
    const waiting = client.lock("a").run(({ fence }) => fence);
    await lease.commit([["SET", stock, 5]]);
    check((await waiting) > lease.fence, "it waits, and has its turn");
    const group = new GroupCommit({ reads: () => [["GET", stock]], decide: (_: number, [left]) => ({ answer: left, writes: [["DECR", stock]] }) });
    equal([await group.submit(client.lock("a"), 1), await group.submit(client.lock("a"), 2)], ["5", "4"]);
    const env = { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: credential };
    equal(await Client.fromEnv(env).read([["GET", stock]]), ["3"]);
  },

  async what_the_environment_does_not_tell_is_missing() {
    const { message } = await fails("invalid_argument", Client.fromEnv().lock("a").acquire());
    check(message.includes("EDGELOCK_BRIDGE_URL") && message.includes("let them be read"), message);
  },
};

const withVariables = {
  async variables_that_may_be_read_are_found_behind_others_that_may_not() {
    for (const client of [Client.fromEnv(), Client.fromEnv(Deno.env)]) equal(await client.read([["GET", stock]]), [null]);
  },
};

const tests = variables ? withVariables : withoutVariables;
runTests(Object.entries(tests), console.log).then((passed) => check(passed, "all tests pass"));
