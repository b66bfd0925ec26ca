// What happens as time passes: leases that are kept, leases that expire, and leases that have
// ended. Each test waits most of the time, so all run side by side, and none changes what others
// use.
import { type ErrorCode, type Lease, LostError } from "edgelock";
import { check, equal, eventually, fails, Network, sleep, type Suite, thrown, unhandled } from "./harness.js";

/** A host that stands still for a second or two does not miss this ttl. */
const SHORT = { ttl: 6_000 };

export const deadlines: Suite = {
  async a_lease_whose_release_was_turned_away_goes_on(stack) {
    const network = new Network("pass", "turn away");
    const lease = await stack.client(network).lock("a", SHORT).acquire();
    const releasing = fails("unauthorized", lease.release());
    const { signal } = lease;
    await releasing;
    check(lease.remaining > 0 && !signal.aborted, "all is as it was");
    await eventually(() => signal.aborted);
    equal(signal.reason.code, "expired");
  },

  async the_signal_of_a_run_tells_the_work_and_the_lock_is_kept_until_that_has_ended(stack) {
    const lock = stack.lock("a", SHORT);
    const stop = new AbortController();
    const reason = new Error("the client hung up");
    let ended = false;
    const work = async (lease: Lease) => {
      const { signal } = lease;
      equal(signal.aborted, false);
      const told = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      stop.abort(reason);
      await told;
      check(signal.reason === reason, "it is told why");
      // The work may go on for as long as it needs to leave everything in order.
      await sleep(SHORT.ttl + 500);
      await lease.exec([["SET", { key: `${stack.mark}n` }, 1]]);
      check(lease.remaining > 0, "it is held");
      ended = true;
    };
    check((await thrown(lock.run(work, { signal: stop.signal }))) === reason, "though the work returned");
    equal([ended, await stack.redis("EXISTS ~a"), await stack.redis("GET ~n")], [true, 0, "1"]);
  },

  async the_signal_of_a_lease_fires_at_its_deadline_and_not_before(stack) {
    const lease = await stack.lock("a", SHORT).acquire();
    const { signal } = lease;
    await sleep(100);
    const renewed = performance.now();
    await lease.renew();
    await eventually(() => signal.aborted);
    // The ttl less 1 % and 2 ms.
    check(performance.now() - renewed >= SHORT.ttl * 0.99 - 2, "it waits for the deadline that it has now");
    check(signal.reason instanceof LostError && signal.reason.code === "expired", `${signal.reason}`);
    equal(lease.remaining, 0);
  },

  async after_the_host_stood_still_past_the_deadline_a_kept_lease_is_expired_and_not_busy(stack) {
    // What gives it back gets no answer.
    const network = new Network("pass", "hang", "hang", "hang");
    const lock = stack.client({ ...network, requestTimeout: 60_000 }).lock("a", { ttl: 600 });
    let told = false;
    const work = async (lease: Lease) => {
      const until = performance.now() + 1_200;
      while (performance.now() < until);
      await eventually(() => network.seen.length > 1);
      for (const call of [() => lease.exec([]), () => lease.renew(), () => lease.commit([]), () => lease.release()]) await fails("expired", call);
      told = true;
    };
    await fails("expired", lock.run(work));
    await eventually(() => told);
  },

  async the_signal_of_a_resumed_lease_fires_once_its_deadline_is_known(stack) {
    const lock = stack.lock("a", SHORT);
    const lease = lock.resume((await lock.acquire()).handOver());
    const { signal } = lease;
    check(!signal.aborted, "nobody knows yet");
    await lease.renew();
    await eventually(() => signal.aborted);
    equal(signal.reason.code, "expired");
  },

  async work_is_not_begun_under_a_lease_that_is_over_or_was_handed_over(stack) {
    const lock = stack.lock("a", SHORT);
    const overs: Record<string, (lease: Lease) => unknown> = {
      released: (lease) => lease.release(),
      lost: (lease) => lock.forceRelease().then(() => thrown(lease.renew())),
      expired: (lease) => eventually(() => lease.signal.aborted),
    };
    let begun = 0;
    for (const [code, over] of Object.entries(overs)) {
      const lease = await lock.acquire();
      await over(lease);
      await fails(code as ErrorCode, lease.run(() => begun++));
    }
    const lease = await lock.acquire();
    lease.handOver();
    await fails("released", lease.run(() => begun++));
    equal(begun, 0);
  },

  async a_resumed_lease_is_renewed_before_its_work_begins_and_while_it_goes_on(stack) {
    const lock = stack.lock("a", SHORT);
    const lease = lock.resume((await lock.acquire()).handOver());
    const { signal } = lease;
    const remaining = await lease.run(async () => {
      const before = lease.remaining;
      await sleep(SHORT.ttl + 500);
      await lease.exec([]);
      return before;
    });
    check(remaining > 0, "it was renewed before");
    equal(signal.reason?.code, "released");
    const lost = lock.resume((await lock.acquire()).handOver());
    await lock.forceRelease();
    await fails("lost", lost.run(() => check(false, "it is not begun")));
  },

  async a_lease_is_kept_alive_until_that_is_stopped_and_not_released_then(stack) {
    const lock = stack.lock("a", SHORT);
    const first = await lock.acquire();
    const resumed = lock.resume(first.handOver());
    const { signal } = resumed;
    {
      using _alive = resumed.keepAlive();
      await sleep(SHORT.ttl + 500);
      check(resumed.remaining > 0 && !signal.aborted, "it is held");
      await fails("busy", () => resumed.keepAlive());
      await fails("busy", resumed.run(() => check(false, "it is not begun")));
    }
    equal(await stack.redis("GET ~a"), resumed.token);
    // The lease may be kept again at once. When that is stopped, it runs out at its deadline.
    const stop = resumed.keepAlive();
    stop();
    stop();
    await eventually(() => signal.aborted);
    equal([signal.reason.code, resumed.remaining], ["expired", 0]);
    const lease = await lock.acquire();
    lease.keepAlive()();
    const kept = async () => {
      await fails("busy", () => lease.keepAlive());
      await fails("busy", lease.run(() => check(false, "it is not begun")));
      return 7;
    };
    equal(await lease.run(kept), 7);
  },

  async a_write_that_was_sent_is_unknown_though_the_signal_of_its_lease_ended_it(stack) {
    const count = [["INCR", { key: `${stack.mark}n` }]] as const;
    // Nor are there renewals.
    const late = () => stack.client(new Network("pass", "withhold the answer", ...Array<"hang">(50).fill("hang"))).lock("a", { ttl: 2_000 });
    const told = (signal: AbortSignal) => new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const works: Array<(lease: Lease) => Promise<unknown>> = [
      (lease) => lease.exec(count, { signal: lease.signal }),
      (lease) => lease.commit(count, { signal: lease.signal }),
      // Nor does it help to throw what the signal says.
      (lease) => Promise.all([told(lease.signal), thrown(lease.exec(count))]),
    ];
    let runs = 0;
    for (const work of works) {
      const error = (await thrown(late().run(work))) as LostError;
      equal([error.isOutcomeUnknown, await stack.redis("GET ~n")], [true, `${++runs}`]);
      await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
    }
    const lease = await late().acquire();
    equal(((await thrown(lease.exec(count, { signal: lease.signal }))) as LostError).isOutcomeUnknown, true);
    await eventually(() => lease.signal.aborted);
    // Nothing is sent now.
    equal(((await thrown(lease.exec(count, { signal: lease.signal }))) as LostError).isOutcomeUnknown, false);
    equal(await stack.redis("GET ~n"), "4");
  },

  async work_is_told_when_its_lock_is_lost(stack) {
    const lock = stack.lock("a", SHORT);
    let told: unknown;
    const run = lock.run(async ({ signal }) => {
      await lock.forceRelease();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      told = signal.reason;
    });
    const error = await fails("lost", run);
    check(told === error, "both are told the same");
  },

  async work_is_stopped_when_it_holds_for_too_long(stack) {
    for (const maxHold of [0, 400]) {
      const lock = stack.lock("a", { ...SHORT, maxHold });
      await fails("max_hold_exceeded", lock.run(() => new Promise<never>(() => {})));
      equal((await lock.inspect()).holder, null);
    }
  },

  async the_signal_of_a_lease_that_is_kept_alive_says_why_that_ended_and_nothing_is_left_unhandled(stack) {
    const lock = stack.lock("a", SHORT);
    equal(await unhandled(async () => {
      const lost = await lock.acquire();
      lost.keepAlive();
      await lock.forceRelease();
      await eventually(() => lost.signal.aborted);
      equal(lost.signal.reason.code, "lost");
      // No call had told that the lease is lost.
      await fails("lost", async () => { await using _lost = lost; });
      const stuck = await lock.acquire();
      stuck.keepAlive({ maxHold: 300 });
      await eventually(() => stuck.signal.aborted);
      equal([stuck.signal.reason.code, await stack.redis("EXISTS ~a")], ["max_hold_exceeded", 0]);
      await fails("max_hold_exceeded", async () => { await using _stuck = stuck; });
      const expired = await stack.client(new Network("pass", "hang", "hang", "hang", "hang")).lock("a", SHORT).acquire();
      expired.keepAlive();
      await eventually(() => expired.signal.aborted);
      equal(expired.signal.reason.code, "expired");
      await fails("expired", () => expired.keepAlive());
    }), []);
  },
};
