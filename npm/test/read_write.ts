// The promises of read/write locks. They are those of tests/it/read_write.rs, with the same names.
import { Client, type Command, GroupCommit, HeldError, type Lease, type Lock, type ReadWriteOptions } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Stack, type Suite, take } from "./harness.js";

const reader = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").read(options);
const writer = (client: Client, options: ReadWriteOptions = {}): Lock => client.readWrite("a").write(options);
const incr = (stack: Stack): Command[] => [["INCR", { key: `${stack.mark}n` }]];
const readers = async (stack: Stack): Promise<number> => Number(await stack.redis(`ZCARD {${stack.mark}a}:readers`));
const waiters = async (stack: Stack): Promise<number> => stack.waitersFor("a");
const lasts = async (stack: Stack): Promise<number> => Number(await stack.redis("PTTL ~a"));
const LONG = 40_000;

async function releaseAll(...leases: readonly Lease[]): Promise<void> {
  for (const lease of leases) await lease.release();
}

export const readWrites: Suite = {
  async a_writer_is_stored_as_the_holder_of_a_lock_is(stack) {
    const lease = await take(writer(stack.client()));
    equal(await stack.redis("GET ~a"), lease.token);
    check((await lasts(stack)) > 5_000 && (await lasts(stack)) <= 10_000, "for its ttl");
    await lease.release();
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async many_read_at_once_and_each_has_a_fence_and_an_end_of_its_own(stack) {
    const one = await take(reader(stack.client(), { ttl: 60_000 }));
    const other = await take(reader(stack.client()));
    equal(await readers(stack), 2);
    check(other.fence > one.fence && one.remaining > 50_000 && other.remaining <= 10_000, "each has its own");
    check((await lasts(stack)) > 50_000, "it is read for as long as the last of them reads");
    await one.renew({ ttl: 1_000 });
    check((await lasts(stack)) > 50_000, "what it had is not cut short");
    await other.renew({ ttl: 90_000 });
    check((await lasts(stack)) > 80_000 && other.remaining > 80_000, "a renewal is of one");
    await releaseAll(one, other);
    equal(await stack.redis("EXISTS ~a"), 0);
  },

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

  async a_lock_of_that_name_is_the_writer_and_readers_keep_it_out(stack) {
    const [lock, reads, writes] = [stack.lock("a"), reader(stack.client()), writer(stack.client())];
    const held = await take(lock);
    equal([await reads.tryAcquire(), await writes.tryAcquire()], [null, null]);
    await held.release();
    const read = await take(reads);
    equal(await lock.tryAcquire(), null);
    equal(await stack.redis("SET ~a theirs NX PX 60000"), null);
    await read.release();
    await releaseAll(await take(lock));
  },

  async a_release_lets_the_next_write_or_all_readers_before_the_next_writer(stack) {
    const held = await take(writer(stack.client()));
    const waiting: Promise<Lease>[] = [];
    for (const reads of [true, true, false]) {
      const client = stack.client();
      const options = { wait: LONG, maxRequests: 1_000 };
      waiting.push((reads ? reader(client, options) : writer(client, { ...options, fair: true })).acquire());
      await eventually(async () => (await waiters(stack)) === waiting.length);
    }
    await held.release();
    const [one, other] = await Promise.all(waiting.slice(0, 2));
    equal([await readers(stack), await waiters(stack)], [2, 1]);
    await releaseAll(one as Lease, other as Lease);
    await releaseAll((await waiting[2]) as Lease);
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

  async a_downgrade_whose_reply_is_lost_or_that_comes_late_does_no_harm(stack) {
    const lease = await take(writer(stack.client(new Network("pass", "lose the answer"))));
    await lease.downgrade();
    equal(await readers(stack), 1);
    await lease.release();
    const unknown = await take(writer(stack.client({ ...new Network("pass", "lose the answer"), maxAttempts: 1 })));
    equal((await fails("unavailable", unknown.downgrade())).isOutcomeUnknown, true);
    equal(await unknown.exec(incr(stack)), [1]);
    await unknown.release();
    equal(await stack.redis("EXISTS ~a"), 0);
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

  async commands_run_under_a_hold_and_not_behind_it(stack) {
    for (const make of [reader, writer]) {
      const lease = await take(make(stack.client()));
      await lease.exec(incr(stack));
      await stack.redis("DEL ~a");
      await fails("lost", lease.exec(incr(stack)));
    }
    equal(await stack.redis("GET ~n"), "2");
  },

  async a_try_that_reads_reads_whether_it_may_or_not(stack) {
    await stack.redis("SET ~stock 7");
    const read: Command[] = [["GET", { key: `${stack.mark}stock` }]];
    const [lease, found] = await reader(stack.client()).tryAcquireAndRead(read);
    equal([lease !== null, found], [true, ["7"]]);
    equal(await writer(stack.client()).tryAcquireAndRead(read), [null, ["7"]]);
    await lease?.release();
  },

  async a_lost_reply_or_a_repeat_counts_once(stack) {
    for (const make of [reader, writer]) {
      const network = new Network("lose the answer", "pass", "lose the answer", "pass", "lose the answer");
      const lease = await take(make(stack.client(network)));
      await lease.exec(incr(stack));
      await lease.release();
      equal(await stack.redis("EXISTS ~a"), 0);
    }
    equal(await stack.redis("GET ~n"), "2");
  },

  async an_acquisition_that_was_given_up_holds_nothing(stack) {
    const client = stack.client({ ...new Network("lose the answer"), maxAttempts: 1 });
    equal((await fails("unavailable", reader(client).tryAcquire())).isOutcomeUnknown, true);
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async it_is_kept_while_work_runs_and_given_back_behind_it(stack) {
    let renewals = 0;
    const client = stack.client({ onEvent: ({ type }) => void (renewals += type === "renewed" ? 1 : 0) });
    const done = await writer(client, { ttl: 2_000 }).run(async (lease) => {
      await lease.downgrade();
      // One renewal every third of the ttl.
      await eventually(() => renewals >= 4);
      equal(await readers(stack), 1);
      return lease.remaining > 0;
    });
    equal([done, await stack.redis("EXISTS ~a")], [true, 0]);
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

  async a_forced_release_frees_it_of_all(stack) {
    const one = await take(reader(stack.client()));
    const other = await take(reader(stack.client()));
    equal(await stack.lock("a").forceRelease(), true);
    await fails("lost", one.renew());
    await fails("lost", other.release());
    const wrote = await take(writer(stack.client()));
    equal(await reader(stack.client()).forceRelease(), true);
    await fails("lost", wrote.release());
    equal(await writer(stack.client()).forceRelease(), false);
  },

  async readers_are_never_beside_a_writer_and_all_get_their_turn(stack) {
    const inside = { readers: 0, writers: 0 };
    const contender = async (_: unknown, number: number): Promise<void> => {
      const what = number % 4 > 0 ? "readers" : "writers";
      const options = { wait: LONG, maxRequests: 10_000 };
      const lock = what === "readers" ? reader(stack.client(), options) : writer(stack.client(), options);
      for (let turn = 0; turn < 5; turn++) {
        const lease = await lock.acquire();
        check(inside.writers === 0 && (what === "readers" || inside.readers === 0), "a writer is alone");
        inside[what]++;
        await sleep(1);
        inside[what]--;
        await lease.commit(incr(stack));
      }
    };
    await Promise.all(Array.from({ length: 8 }, contender));
    equal(Number(await stack.redis("GET ~n")), 5 * 8);
  },

  async what_cannot_be_one_is_refused(stack) {
    const client = stack.client();
    for (const odd of [undefined, null, 7, {}]) await fails("invalid_argument", () => client.readWrite(odd as never));
    for (const make of [reader, writer]) {
      await fails("invalid_argument", () => make(client, { signalList: "b" } as ReadWriteOptions));
      await fails("invalid_argument", () => make(client, { tll: 5 } as ReadWriteOptions));
      await fails("invalid_argument", () => make(client, { ttl: 0 }).tryAcquire());
    }
    await fails("invalid_argument", async () => new Client({ url: "http://127.0.0.1:1", credential: "x" }).readWrite("").read().tryAcquire());
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    await fails("invalid_argument", group.submit(reader(client), 7));
    equal(await group.submit(writer(client), 7), 7);
  },
};
