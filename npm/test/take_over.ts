// The promises of taking a lock over from its holder. They are those of tests/it/take_over.rs, with
// the same names.
import type { Client, Command, Lock } from "edgelock";
import { check, equal, eventually, fails, type Suite, take } from "./harness.js";

const taking = (client: Client): Lock => client.lock("a", { takeOver: true });

export const takeOvers: Suite = {
  async whoever_takes_a_lock_over_has_it_and_the_old_holder_writes_no_more(stack) {
    const old = await take(stack.lock("a", { ttl: 60_000 }));
    const lease = await take(taking(stack.client()));
    check(lease.fence > old.fence, "fences grow");
    equal(await stack.redis("GET ~a"), lease.token);
    const write: Command[] = [["INCR", { key: `${stack.mark}n` }]];
    await fails("lost", old.exec(write));
    check(old.signal.aborted, "it is told");
    await fails("lost", stack.lock("a").resume(old.token).commit(write));
    await lease.commit(write);
    equal(await stack.redis("GET ~n"), "1");
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async a_holder_that_listens_is_stopped_at_once(stack) {
    for (const takes of [true, false]) {
      const lock = stack.lock("a", { ttl: 60_000, listen: true });
      const stopped = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      const working = fails("lost", lock.run(({ signal }) => stopped(signal)));
      await eventually(async () => Number((await stack.redis("PUBSUB NUMSUB {~a}:lost") as unknown[])[1]) === 1);
      const begun = performance.now();
      const lease = takes ? await take(taking(stack.client())) : undefined;
      if (!takes) equal(await stack.lock("a").forceRelease(), true);
      await working;
      check(performance.now() - begun < 15_000, "its next renewal would be later");
      await lease?.release();
    }
  },
};
