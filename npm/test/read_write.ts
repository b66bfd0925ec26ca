// The promises of read/write locks. They are those of tests/it/read_write.rs, with the same names.
import { Client, type Command, HeldError, type Lock, type ReadWriteOptions } from "edgelock";
import { check, equal, eventually, fails, releaseAll, type Stack, type Suite, take } from "./harness.js";

const reader = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").read(options);
const writer = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").write(options);
const incr = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];
const readers = async (stack: Stack): Promise<number> => Number(await stack.redis(`ZCARD {${stack.mark}a}:readers`));
const waiters = async (stack: Stack): Promise<number> => stack.waitersFor("a");
const LONG = 40_000;

export const readWrites: Suite = {
  async a_writer_is_alone(stack) {
    const [reads, writes] = [reader(stack.client()), writer(stack.client())];
    const held = await take(writer(stack.client(), { label: "w" }));
    equal([await reads.tryAcquire(), await writes.tryAcquire()], [null, null]);
    equal(((await fails("held", reader(stack.client(), { wait: 0 }).acquire())) as HeldError).label, "w");
    await held.release();
    const [one, other] = [await take(reads), await take(reads)];
    equal(await writes.tryAcquire(), null);
    await one.release();
    equal(await writes.tryAcquire(), null);
    await other.release();
    await releaseAll(await take(writes));
  },

  async a_reader_waits_behind_a_writer_that_waits_unless_it_barges(stack) {
    const first = await take(reader(stack.client()));
    const writing = writer(stack.client(), { wait: LONG }).acquire();
    await eventually(async () => (await waiters(stack)) === 1);
    equal(await reader(stack.client()).tryAcquire(), null);
    await releaseAll(await take(reader(stack.client(), { fair: false })));
    await first.release();
    const wrote = await writing;
    check(wrote.fence > first.fence, "it is its turn");
    await wrote.release();
  },

  async a_writer_goes_down_to_a_reader_in_the_same_hold(stack) {
    const lease = await take(writer(stack.client(), { ttl: 60_000, label: "w" }));
    const { fence, token } = lease;
    equal(await lease.exec(incr(stack)), [1]);
    await lease.downgrade();
    equal([lease.fence, lease.token], [fence, token]);
    check(lease.remaining > 50_000, "it is renewed by it");
    const beside = await take(reader(stack.client()));
    equal([await readers(stack), await writer(stack.client()).tryAcquire()], [2, null]);
    await lease.renew();
    const resumed = reader(stack.client()).resume(lease.handOver());
    await resumed.renew();
    equal(resumed.fence, fence);
    equal(await resumed.commit(incr(stack)), [2]);
    await beside.release();
    const lost = await take(writer(stack.client()));
    await stack.redis("DEL ~a");
    await fails("lost", lost.downgrade());
    equal(lost.signal.aborted, true);
  },

  async a_reader_does_not_become_the_writer(stack) {
    const reads = await take(reader(stack.client()));
    await fails("invalid_argument", reads.downgrade());
    await reads.renew();
    await reads.release();
    const wrote = await take(writer(stack.client()));
    await wrote.downgrade();
    await fails("invalid_argument", wrote.downgrade());
    await wrote.release();
    const lock = await take(stack.lock("b"));
    await fails("invalid_argument", lock.downgrade());
    await lock.release();
  },

  async inspection_says_whether_it_is_read_and_by_whom(stack) {
    const [reads, writes] = [reader(stack.client()), writer(stack.client())];
    const free = await reads.inspect();
    equal([free.holder, free.holders, free.isRead, free.free], [null, [], false, null]);
    const wrote = await take(writes);
    const held = await reads.inspect();
    equal([held.holder?.token, held.isRead, held.fence], [wrote.token, false, wrote.fence]);
    await wrote.release();
    const long = await take(reader(stack.client(), { ttl: 60_000, label: "long" }));
    const brief = await take(reads);
    const read = await writes.inspect();
    equal(read.holders.map(({ token, label }) => [token, label]), [[brief.token, null], [long.token, "long"]]);
    equal([read.isRead, read.fence], [true, brief.fence]);
    // A token can release its hold, so it must not be shown.
    check(!JSON.stringify(read).includes(long.token), "no token shows by itself");
    await releaseAll(long, brief);
  },
};
