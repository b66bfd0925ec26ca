// The promises of several names at once. They are those of tests/it/multi.rs, with the same names.
import { Client, HeldError, type LockAllOptions, type Lock } from "edgelock";
import { check, equal, fails, type Stack, type Suite, take } from "./harness.js";

const all = (stack: Stack, names: readonly string[], options: LockAllOptions = {}, client = stack.client()): Lock => client.lockAll(names, options);
const holder = (stack: Stack, name: string): Promise<unknown> => stack.redis(`GET ~${name}`);

export const multis: Suite = {
  async none_is_taken_while_one_is_held_and_the_error_says_which(stack) {
    const held = await take(stack.lock("c", { label: "worker 7", ttl: 60_000 }));
    const error = (await fails("held", all(stack, ["a", "c", "b"], { wait: 0 }).acquire())) as HeldError;
    equal([error.lock, error.label], [`${stack.mark}c`, "worker 7"]);
    check((error.remaining ?? 0) > 50_000, "for how long");
    equal([await holder(stack, "a"), await holder(stack, "b")], [null, null]);
    await held.release();
    await (await take(all(stack, ["a", "c", "b"]))).release();
  },

  async inspection_lists_who_holds_any_of_the_names(stack) {
    const free = await all(stack, ["a", "b", "c"]).inspect();
    equal([free.holder, free.holders, free.isRead, free.free], [null, [], false, null]);
    const both = await take(all(stack, ["c", "a"], { label: "cart 7" }));
    const one = await take(stack.lock("b"));
    const found = await all(stack, ["a", "b", "c"]).inspect();
    equal(found.holders.map(({ token, label }) => [token, label]), [[both.token, "cart 7"], [one.token, null]]);
    equal(found.fence, one.fence);
    await both.release();
    await one.release();
  },

  async what_cannot_be_one_is_refused(stack) {
    const client = stack.client();
    for (const odd of [undefined, null, 7, {}, "ab", [7], [null]]) await fails("invalid_argument", () => client.lockAll(odd as never));
    const many = Array.from({ length: 33 }, (_, number) => `${number}`);
    for (const wrong of [[], many, ["a", "b", "a"], ["a", ""], ["a", "}"]]) {
      await fails("invalid_argument", async () => new Client({ url: "http://127.0.0.1:1", credential: "x" }).lockAll(wrong).tryAcquire());
    }
  },
};
