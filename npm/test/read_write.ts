// The promises of read/write locks. They are those of tests/it/read_write.rs, with the same names.
import type { Client, Lock, ReadWriteOptions } from "edgelock";
import { check, equal, eventually, fails, releaseAll, type Suite, take } from "./harness.js";

const reader = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").read(options);
const writer = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").write(options);

export const readWrites: Suite = {
  async a_reader_waits_behind_a_writer_that_waits_unless_it_barges(stack) {
    const first = await take(reader(stack.client()));
    const writing = writer(stack.client(), { wait: 40_000 }).acquire();
    await eventually(async () => (await stack.waitersFor("a")) === 1);
    equal(await reader(stack.client()).tryAcquire(), null);
    await releaseAll(await take(reader(stack.client(), { fair: false })));
    await first.release();
    const wrote = await writing;
    check(wrote.fence > first.fence, "it is its turn");
    await wrote.release();
  },

  async a_writer_goes_down_to_a_reader_in_the_same_hold(stack) {
    const lease = await take(writer(stack.client(), { ttl: 60_000 }));
    const { fence, token } = lease;
    await stack.redis("PEXPIRE ~a 5000");
    await lease.downgrade();
    equal([lease.fence, lease.token], [fence, token]);
    check(lease.remaining > 50_000, "it is renewed by it");
    await releaseAll(await take(reader(stack.client())));
    const resumed = reader(stack.client()).resume(lease.handOver());
    equal(await resumed.commit([["INCR", { key: `${stack.mark}n` }]]), [1]);
    const lost = await take(writer(stack.client()));
    await stack.redis("DEL ~a");
    await fails("lost", lost.downgrade());
    check(lost.signal.aborted, "it is told");
  },

  async a_reader_does_not_become_the_writer(stack) {
    for (const lock of [reader(stack.client()), stack.lock("b")]) {
      const lease = await take(lock);
      await fails("invalid_argument", lease.downgrade());
      await lease.renew();
      await lease.release();
    }
  },
};
