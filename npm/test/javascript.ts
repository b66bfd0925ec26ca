// What only JavaScript has: disposal, signals, forgotten and overlapping calls, and traps.
import { type CallOptions, Client, type Command, EdgelockError, type FetchInit, type FetchResponse, GroupCommit, InternalError, type Lease, type Lock, type LockEvent, NotReplicatedError } from "edgelock";
import { Background, check, equal, eventually, fails, Network, sleep, type Stack, type Suite, take, thrown } from "./harness.js";

/** Asked while the module is loaded. Some hosts do not allow I/O or random numbers yet. */
const early = new Client({ url: "https://127.0.0.1:1", credential: "credential", maxAttempts: 1 });
const earlyError = early.lock("a").tryAcquire().then(() => check(false, "there is no bridge"), (error: unknown) => error);

/** A ttl beyond the limit of a test: if the lock is free before, it was given back. */
const LONG = { ttl: 600_000 };
/** A ttl that a test waits for. A host that stands still for a second or two does not miss it. */
const SHORT = { ttl: 3_000 };

/** Every call that sends something and takes a signal. */
export function calls({ mark }: Stack): Readonly<Record<string, (client: Client, options: CallOptions) => Promise<unknown>>> {
  const [get, incr]: [Command, Command] = [["GET", { key: `${mark}n` }], ["INCR", { key: `${mark}n` }]];
  const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer, writes: [incr] }) });
  const lease = (client: Client) => client.lock("a").resume("a".repeat(22));
  return {
    read: (client, options) => client.read([get], options),
    tryAcquire: (client, options) => client.lock("a").tryAcquire(options),
    tryAcquireAndRead: (client, options) => client.lock("a").tryAcquireAndRead([get], options),
    acquire: (client, options) => client.lock("a").acquire(options),
    acquireAndRead: (client, options) => client.lock("a").acquireAndRead([get], options),
    run: (client, options) => client.lock("a").run((lease) => lease.exec([incr]), options),
    inspect: (client, options) => client.lock("a").inspect(options),
    forceRelease: (client, options) => client.lock("a").forceRelease(options),
    renew: (client, options) => lease(client).renew(options),
    downgrade: (client, options) => client.readWrite("a").write().resume("a".repeat(22)).downgrade(options),
    exec: (client, options) => lease(client).exec([incr], options),
    commit: (client, options) => lease(client).commit([incr], options),
    release: (client, options) => lease(client).release(options),
    once: (client, options) => client.once("b").run(() => 7, options),
    forget: (client, options) => client.once("b").forget(options),
    tryPass: (client, options) => client.throttle("c", 1_000).tryPass(options),
    debounce: (client, options) => client.debounce("d", 1_000).run(() => 7, options),
    submit: (client, options) => group.submit(client.lock("a"), 7, options),
  };
}

export const javascript: Suite = {
  async options_that_are_changed_later_change_no_lock_and_no_client(stack) {
    const network = new Network();
    const { url, credential } = stack.bridge;
    const settings = { url, credential, prefix: stack.mark, fetch: network.fetch };
    const own = new Client(settings);
    settings.fetch = () => Promise.reject(new Error("another network"));
    const holder = await take(own.lock("a"));
    const [first, second] = [new AbortController(), new AbortController()];
    const options = { wait: 30_000, signal: first.signal };
    const waiting = own.lock("a", options).acquire();
    const later = own.lock("a", options);
    options.signal = second.signal;
    second.abort(new Error("another's"));
    await holder.release();
    await (await waiting).release();
    await (await later.acquire()).release();
    check(network.seen.length > 0, "its own network is used");
  },

  async an_option_that_is_inherited_counts_and_each_is_read_once(stack) {
    const [network, background, read] = [new Network(), new Background(), [] as string[]];
    /** The same options, of which a class has each. */
    const inherited = <O extends object>(options: O): O => {
      const has = Object.entries(options).map(([name, value]) => [name, { get: () => (read.push(name), value) }]);
      return Object.create(Object.create({}, Object.fromEntries(has))) as O;
    };
    const { url, credential } = stack.bridge;
    const settings = { prefix: stack.mark, fetch: network.fetch, waitUntil: background.waitUntil };
    const env = { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: credential };
    const makers = [() => new Client(inherited({ url, credential, ...settings })), () => Client.fromEnv(env, inherited(settings))];
    for (const make of makers) {
      const [client, stop, sent, begun] = [make(), new AbortController(), network.seen.length, background.underWay.size];
      const held = await take(client.lock("a", LONG));
      check(network.seen.length > sent && background.underWay.size > begun, "its own network and host are used");
      const options = { wait: 30_000, signal: stop.signal };
      read.length = 0;
      const lock = client.lock("a", inherited(options));
      equal(read.sort(), ["signal", "wait"]);
      const waits = [lock.acquire(), client.once("a", inherited(options)).run(() => 7), client.cached("a", inherited({ fresh: 1, stale: 1, ...options })).get(() => 7)];
      const ends = Promise.all(waits.map(thrown));
      stop.abort("enough");
      equal(await ends, ["enough", "enough", "enough"]);
      await held.release();
      const until = ({ signal }: Lease) => new Promise((over) => signal.addEventListener("abort", over));
      await fails("max_hold_exceeded", client.lock("b", inherited({ maxHold: 20 })).run(until));
    }
  },

  async a_host_is_told_of_each_call_that_is_to_finish_though_its_caller_hung_up(stack) {
    for (const [name, call] of Object.entries(calls(stack))) {
      const background = new Background();
      const outcome = call(stack.client({ waitUntil: background.waitUntil }), {}).catch(() => {});
      check(background.underWay.size > 0, name);
      await outcome;
      // The next one would wait for what this one took.
      await stack.lock("a").forceRelease();
    }
  },

  async a_host_does_not_wait_for_ever_for_a_resumed_lease_of_which_nothing_is_known(stack) {
    const background = new Background();
    const away = stack.client({ fetch: () => Promise.reject(new TypeError("away")), maxAttempts: 1, waitUntil: background.waitUntil });
    const lock = away.lock("a", { ttl: 200 });
    const { token } = await take(stack.lock("a", { ttl: 200 }));
    const ends: Array<(lease: Lease) => Promise<unknown>> = [(lease) => lease.renew(), (lease) => lease.commit([]), (lease) => lease.release(), (lease) => lease.run(() => 7)];
    await Promise.all(ends.map((end) => fails("unavailable", end(lock.resume(token)))));
    check(await Promise.race([background.over().then(() => true), sleep(5_000).then(() => false)]), "it is over");
  },

  async await_using_releases_what_was_not_released_or_committed(stack) {
    const network = new Network();
    const lock = stack.client(network).lock("a");
    const ends: Array<(lease: Lease) => unknown> = [() => {}, (lease) => lease.commit([]), (lease) => lease.release()];
    for (const end of ends) {
      await using lease = await lock.acquire();
      equal(await stack.redis("GET ~a"), lease.token);
      await end(lease);
    }
    equal([network.seen.length, await stack.redis("EXISTS ~a")], [6, 0]);
  },

  async await_using_tells_of_a_loss_that_nobody_was_told_of(stack) {
    const lock = stack.lock("a");
    const section = async (look: boolean) => {
      await using lease = await lock.acquire();
      await lock.forceRelease();
      if (look) await lease.renew();
    };
    await fails("lost", section(false));
    // The error is thrown unchanged, not wrapped in another.
    await fails("lost", section(true));
  },

  async using_without_await_releases_in_the_background(stack) {
    const background = new Background();
    const lock = stack.client({ waitUntil: background.waitUntil }).lock("a");
    let lease;
    {
      using held = await lock.acquire();
      lease = held;
      equal(await stack.redis("EXISTS ~a"), 1);
    }
    await background.over();
    equal(await stack.redis("EXISTS ~a"), 0);
    await fails("released", lease.exec([]));
    equal(lease.signal.reason?.code, "released");
    check(lease.fence > 0 && lease.token.length === 22, "what it was is known yet");
  },

  async a_call_that_an_error_of_ours_ends_is_unknown_if_it_was_sent_and_only_then(stack) {
    const lease = await stack.lock("lost").acquire();
    await stack.lock("lost").forceRelease();
    const lost = await fails("lost", lease.renew());
    const unknown = await fails("timed_out", stack.client({ ...new Network("hang"), maxAttempts: 1, requestTimeout: 50 }).lock("a").tryAcquire());
    for (const [name, call] of Object.entries(calls(stack))) {
      // These have their lock when they are told to stop.
      const before = ["run", "submit"].includes(name) ? 1 : 0;
      const network = new Network(...Array<"pass">(before).fill("pass"), "withhold the answer");
      const stop = new AbortController();
      const late = thrown(call(stack.client({ ...network, prefix: `${stack.mark}${name}:` }), { signal: stop.signal })) as Promise<EdgelockError>;
      await eventually(() => network.seen.length === before + 1);
      stop.abort(lost);
      equal([name, (await late).isOutcomeUnknown], [name, true]);
      const early = (await thrown(call(stack.client(), { signal: AbortSignal.abort(unknown) }))) as EdgelockError;
      equal([name, early.isOutcomeUnknown], [name, false]);
    }
  },

  async a_lock_whose_caller_is_gone_is_given_back_though_its_work_goes_on(stack) {
    const endless = () => new Promise<never>(() => {});
    const holds: Record<string, (client: Client, has: (lease: Lease) => void) => Promise<unknown>> = {
      run: (client, has) => thrown(client.lock("a", LONG).run((lease) => (has(lease), endless()))),
      acquire: async (client, has) => has(await client.lock("a", LONG).acquire()),
      async keepAlive(client, has) {
        const lease = await client.lock("a", LONG).acquire();
        lease.keepAlive();
        has(lease);
      },
    };
    const reason = new Error("hung up");
    for (const hold of Object.values(holds)) {
      const gone = new AbortController();
      const client = stack.client({ signal: gone.signal, requestTimeout: 2_000 });
      let ended: Promise<unknown> | undefined;
      const lease = await new Promise<Lease>((has) => (ended = hold(client, has)));
      const waiting = thrown(client.lock("a", LONG).acquire());
      gone.abort(reason);
      check((await waiting) === reason && lease.signal.reason === reason, "who waits and who works is told");
      // There is time to write what was begun.
      equal(await lease.exec([["SET", { key: `${stack.mark}n` }, 1]]), ["OK"]);
      await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
      await ended;
      await fails("released", lease.exec([]));
    }
    const gone = new AbortController();
    const client = stack.client({ signal: gone.signal, requestTimeout: 2 });
    const token = (await stack.client().lock("b", LONG).acquire()).handOver();
    const handed = client.lock("b", LONG).resume(token);
    handed.handOver();
    const { value } = await stack.client({ signal: gone.signal, requestTimeout: 500 }).once("c", LONG).run(async (lease) => {
      gone.abort(reason);
      await sleep(600);
      return lease.signal.aborted ? "stopped" : "done";
    });
    equal([value, await stack.redis("EXISTS ~b")], ["done", 1]);
  },

  async using_while_a_write_is_under_way_releases_behind_it(stack) {
    let write;
    {
      using lease = await stack.lock("a", LONG).acquire();
      write = lease.exec([["INCR", { key: `${stack.mark}n` }]]);
    }
    equal(await write, [1]);
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async after_a_release_of_unknown_outcome_nothing_remains_and_only_another_may_follow(stack) {
    const network = new Network("pass", "lose the answer");
    const lease = await stack.client({ ...network, maxAttempts: 1 }).lock("a").acquire();
    const { signal } = lease;
    const error = await fails("unavailable", lease.release());
    check(error.isOutcomeUnknown && signal.reason === error, "the signal says why");
    equal(lease.remaining, 0);
    await fails("released", lease.renew());
    await fails("released", lease.exec([]));
    equal(network.seen.length, 2);
    await lease.release();
    await fails("released", lease.release());
  },

  async overlapping_calls_on_one_lease_each_work_or_fail_clearly(stack) {
    const lease = await stack.lock("a").acquire();
    const calls = [lease.renew(), lease.release(), lease.release(), lease.exec([]), lease.commit([]), lease.renew()];
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === "rejected") check(["busy", "lost", "released"].includes(outcome.reason.code), `${outcome.reason}`);
    }
    equal(await stack.redis("EXISTS ~a"), 0);
    await fails("released", lease.release());
  },

  async overlapping_acquisitions_of_one_lock_are_apart(stack) {
    const lock = stack.lock("a");
    const leases = await Promise.all([lock.tryAcquire(), lock.tryAcquire(), lock.tryAcquire()]);
    equal(leases.filter((lease) => lease !== null).length, 1);
  },

  async a_client_made_at_module_level_works_later_and_says_why_it_does_not_at_once(stack) {
    // Some hosts have no random numbers there, and others have all that is needed.
    const error = await earlyError;
    check(error instanceof EdgelockError && ["entropy_unavailable", "unavailable"].includes(error.code), `${error}`);
    await fails("unavailable", early.lock("a").tryAcquire());
    await (await take(stack.lock("a"))).release();
  },

  async a_lock_that_no_replica_has_is_given_back(stack) {
    const lock = stack.lock("a", { waitForReplicas: { count: 1, within: 10 } });
    const error = await thrown(lock.tryAcquire());
    check(error instanceof NotReplicatedError && !error.isOutcomeUnknown, `${error}`);
    equal([error.code, error.asked, error.acknowledged], ["not_replicated", 1, 0]);
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async a_commit_that_ended_the_lease_is_told_by_its_signal_whatever_it_throws(stack) {
    const background = new Background();
    const client = stack.client({ waitUntil: background.waitUntil });
    const unit = client.reservations("u", 2);
    const confirmed = (await unit.acquire()).handOver();
    await unit.resume(confirmed).commit([]);
    const taken = (await client.lock("a").acquire()).handOver();
    const replicated = client.lock("a", { waitForReplicas: { count: 1, within: 1 } });
    for (const [lease, code] of [[unit.resume(confirmed), "confirmed"], [replicated.resume(taken), "not_replicated"]] as const) {
      const { signal } = lease;
      await fails(code, lease.commit([]));
      equal([lease.remaining, signal.aborted, signal.reason?.code], [0, true, "released"]);
    }
    // A host that waits for each lease has nothing left to wait for.
    await background.over();
  },

  async a_module_that_is_left_in_the_middle_is_an_error_and_later_calls_work(stack) {
    const client = stack.client();
    const lock = client.lock("a");
    const before = await lock.acquire();
    const { now } = performance;
    // No host's clock throws: the module is left in the middle, as by a panic.
    performance.now = () => {
      throw new Error("no clock");
    };
    const calls = [lock.tryAcquire(), before.renew(), client.lock("b").acquire()];
    const errors = await Promise.all(calls.map((call) => thrown(call)));
    performance.now = now;
    for (const error of errors) {
      check(error instanceof InternalError && error.cause instanceof Error && error.isOutcomeUnknown, `${error}`);
    }
    // Leases of that module are lost with it, without a trap.
    await fails("internal", before.release());
    equal(before.remaining, 0);
    before[Symbol.dispose]();
    await lock.forceRelease();
    const after = await lock.acquire();
    await after.release();
    await (await client.lock("b").acquire()).release();
  },

  async either_of_two_signals_ends_a_wait_that_of_the_lock_and_that_of_the_call(stack) {
    const holder = await stack.lock("a", LONG).acquire();
    const calls: Array<(lock: Lock, options: CallOptions) => Promise<unknown>> = [
      (lock, options) => lock.acquire(options),
      (lock, options) => lock.acquireAndRead([["GET", { key: `${stack.mark}n` }]], options),
      (lock, options) => lock.run(() => check(false, "it is not begun"), options),
    ];
    for (const call of calls) {
      for (const which of [0, 1]) {
        const stops = [new AbortController(), new AbortController()] as const;
        const network = new Network();
        const lock = stack.client(network).lock("a", { wait: 30_000, signal: stops[0].signal });
        const waiting = thrown(call(lock, { signal: stops[1].signal }));
        await eventually(async () => (await stack.lock("a").inspect()).waiters === 1);
        const reason = new Error("no longer");
        stops[which]?.abort(reason);
        check((await waiting) === reason, `by ${which}`);
        await eventually(async () => (await stack.lock("a").inspect()).waiters === 0);
        const sent = network.seen.length;
        check((await thrown(call(lock, { signal: stops[1].signal }))) === reason && network.seen.length === sent, "at once");
      }
    }
    await holder.release();
  },

  async every_call_that_sends_is_ended_by_a_signal_of_its_own(stack) {
    for (const [name, call] of Object.entries(calls(stack))) {
      const network = new Network("hang");
      const stop = new AbortController();
      const ended = thrown(call(stack.client(network), { signal: stop.signal }));
      await eventually(() => network.seen.length === 1);
      const reason = new Error("no longer");
      stop.abort(reason);
      check((await ended) === reason, name);
      const unused = new Network();
      check((await thrown(call(stack.client(unused), { signal: stop.signal }))) === reason, `${name}: at once`);
      equal(unused.seen.length, 0);
    }
  },

  async a_write_that_is_aborted_leaves_the_lease_and_a_release_leaves_nothing_but_another(stack) {
    const network = new Network("pass", "hang", "hang", "pass", "hang");
    const lease = await stack.client(network).lock("a", LONG).acquire();
    const abort = async (call: (options: CallOptions) => Promise<unknown>) => {
      const [stop, sent] = [new AbortController(), network.seen.length];
      const ended = thrown(call({ signal: stop.signal }));
      await eventually(() => network.seen.length > sent);
      stop.abort("no longer");
      equal(await ended, "no longer");
    };
    await abort((options) => lease.exec([], options));
    await abort((options) => lease.renew(options));
    check(lease.remaining > 0 && !lease.signal.aborted, "it is held");
    await lease.exec([]);
    equal(await thrown(lease.release({ signal: AbortSignal.abort("early") })), "early");
    check(lease.remaining > 0 && !lease.signal.aborted, "nothing was sent");
    await abort((options) => lease.release(options));
    check(lease.remaining === 0 && lease.signal.aborted && lease.signal.reason.isOutcomeUnknown, "nobody knows");
    await fails("released", lease.renew());
    equal(await stack.redis("EXISTS ~a"), 1);
    await lease.release();
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async what_keeps_a_lease_alive_is_ended_by_its_signal_which_then_is_listened_to_no_more(stack) {
    const lease = await stack.lock("a", LONG).acquire();
    const stop = new AbortController();
    lease.keepAlive({ signal: stop.signal });
    await fails("busy", () => lease.keepAlive());
    stop.abort("no longer");
    equal(await thrown(() => lease.keepAlive({ signal: stop.signal })), "no longer");
    check(lease.remaining > 0 && !lease.signal.aborted, "nothing is released");
    lease.keepAlive()();
    await lease.release();
  },

  async durations_are_told_in_whole_milliseconds_and_never_fewer_than_they_were(stack) {
    const events: LockEvent[] = [];
    const network = new Network("lose the request");
    const client = stack.client({ ...network, push: false, onEvent: (event) => events.push(event) });
    const { now } = performance;
    let at = Math.ceil(now.call(performance));
    let error;
    try {
      performance.now = () => (at += 0.125);
      const lease = await client.lock("a").acquire();
      await lease.renew();
      error = await fails("held", client.lock("a", { wait: 100, maxRequests: 2 }).acquire());
      await lease.release();
      await eventually(() => events.some(({ type }) => type === "released"));
    } finally {
      performance.now = now;
    }
    const numbers = [error, ...events].flatMap((one) => Object.entries(one).filter(([, value]) => typeof value === "number"));
    for (const [name, value] of numbers) check(Number.isInteger(value), `${name}: ${String(value)}`);
    equal([...new Set(events.map(({ type }) => type))].sort(), ["acquired", "contended", "gave_up", "released", "renewed", "retried"]);
    const retried = events.find((event) => event.type === "retried");
    check(retried?.error.code === "unavailable" && retried.lock === `${stack.mark}a`, "it says how it got lost");
    // By this clock each took some eighths of a millisecond, which are rounded up.
    for (const event of events) if ("took" in event) check(event.took >= 1, JSON.stringify(event));
  },

  async a_signal_that_outlives_a_call_is_not_listened_to_any_more(stack) {
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: unknown[]) => (listeners++, addEventListener.apply(signal, args as never));
    signal.removeEventListener = (...args: unknown[]) => (listeners--, removeEventListener.apply(signal, args as never));
    const lock = stack.lock("a", { signal, wait: 0 });
    await lock.run(() => equal(listeners, 1), { signal });
    const lease = await lock.acquire({ signal });
    await fails("held", lock.acquire({ signal }));
    equal(await lock.tryAcquire({ signal }), null);
    lease.keepAlive({ signal })();
    await lease.exec([], { signal });
    await thrown(lease.run(() => Promise.reject(new Error("odd")), { signal }));
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    equal(await group.submit(lock, 7, { signal }), 7);
    equal(listeners, 0);
  },

  async work_whose_signal_was_aborted_before_is_not_begun_and_what_it_throws_when_told_is_thrown(stack) {
    const network = new Network();
    const lock = stack.client(network).lock("a", LONG);
    const gone = AbortSignal.abort("gone");
    const lease = await lock.acquire();
    equal(await thrown(lease.run(() => check(false, "it is not begun"), { signal: gone })), "gone");
    equal(await stack.redis("EXISTS ~a"), 0);
    equal(await thrown(lock.run(() => check(false, "it is not begun"), { signal: gone })), "gone");
    equal(network.seen.length, 2);
    const stop = new AbortController();
    const stubborn = async (lease: Lease) => {
      stop.abort("stop");
      // Work that looks only now is told, too.
      equal(lease.signal.reason, "stop");
      throw "I cannot";
    };
    equal(await thrown(lock.run(stubborn, { signal: stop.signal })), "I cannot");
    const late = new AbortController();
    equal(await lock.run(() => 7, { signal: late.signal }), 7);
    late.abort();
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async what_remains_of_a_lease_is_told_in_whole_milliseconds_and_its_end_as_a_date(stack) {
    const lock = stack.lock("a", { ttl: 30_000 });
    const { now } = performance;
    const at = Math.ceil(now.call(performance));
    let lease;
    try {
      performance.now = () => at;
      lease = await lock.acquire();
      // The ttl less 1 % and 2 ms.
      equal(lease.remaining, 29_698);
      performance.now = () => at + 0.25;
      equal(lease.remaining, 29_697);
      const [before, end, after] = [Date.now(), lease.expiresAt, Date.now()];
      check(end instanceof Date && +end >= before + 29_697 && +end <= after + 29_697, `${String(end)}`);
      performance.now = () => at + 29_697.5;
      equal([lease.remaining, lease.expiresAt], [0, null]);
    } finally {
      performance.now = now;
    }
    const resumed = lock.resume(lease.handOver());
    equal([resumed.remaining, resumed.expiresAt, lease.expiresAt], [0, null, null]);
    await resumed.renew();
    check(resumed.expiresAt !== null, "it is known");
    await resumed.release();
    equal(resumed.expiresAt, null);
  },

  async a_lease_that_its_work_hands_over_is_not_released(stack) {
    const lock = stack.lock("a", LONG);
    for (const keep of [lock.run.bind(lock), async (work: (lease: Lease) => unknown) => (await lock.acquire()).run(work)]) {
      const token = await keep(async (lease) => {
        await lease.renew();
        return lease.handOver();
      });
      equal(await stack.redis("GET ~a"), token);
      await lock.resume(token as string).release();
    }
  },

  async a_lease_is_not_handed_over_while_a_write_of_it_is_under_way(stack) {
    const network = new Network("pass", "hang");
    const lease = await stack.client({ ...network, requestTimeout: 300 }).lock("a").acquire();
    const write = lease.exec([]);
    await eventually(() => network.seen.length === 2);
    await fails("busy", () => lease.handOver());
    await write;
    await stack.lock("a").resume(lease.handOver()).release();
    await fails("released", () => lease.handOver());
  },

  async a_lease_that_is_given_back_or_handed_over_is_kept_alive_no_more(stack) {
    const background = new Background();
    const network = new Network();
    const lock = stack.client({ ...network, waitUntil: background.waitUntil }).lock("a", SHORT);
    const ends: Array<(lease: Lease) => unknown> = [(lease) => lease.release(), (lease) => lease.commit([]), (lease) => lock.resume(lease.handOver()).release()];
    for (const end of ends) {
      const lease = await lock.acquire();
      lease.keepAlive()();
      const stop = lease.keepAlive();
      const ended = end(lease);
      if (lease.remaining === 0 && !lease.signal.aborted) await fails("busy", () => lease.keepAlive());
      await ended;
      equal(lease.signal.reason?.code, "released");
      await fails("released", () => lease.keepAlive());
      stop();
    }
    await background.over();
    equal(network.seen.length, 6);
    {
      using lease = await lock.acquire();
      lease.keepAlive();
    }
    // The lock is released a moment later, when its keeper has ended.
    await background.over();
    equal(await stack.redis("EXISTS ~a"), 0);
  },

  async a_release_at_the_end_of_a_run_that_gets_lost_goes_on_in_the_background(stack) {
    for (const waits of [true, false]) {
      const background = new Background();
      const waitUntil = waits ? background.waitUntil : undefined;
      const client = stack.client({ ...new Network("pass", "lose the request"), maxAttempts: 1, waitUntil });
      equal(await client.lock("a", LONG).run(() => 7), 7);
      await background.over();
      if (waits) equal(await stack.redis("EXISTS ~a"), 0);
      await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
    }
  },

  async a_run_that_released_leaves_nothing_to_the_background(stack) {
    const background = new Background();
    const network = new Network();
    const lock = stack.client({ ...network, waitUntil: background.waitUntil }).lock("a");
    await lock.run(() => 7);
    await lock.run((lease) => lease.commit([]));
    await background.over();
    equal(network.seen.length, 4);
  },

  async what_work_throws_is_thrown_and_the_lock_is_free(stack) {
    const lock = stack.lock("a");
    const failure = { not: "even an Error" };
    check((await thrown(lock.run(() => Promise.reject(failure)))) === failure, "as it was thrown");
    check((await thrown(lock.run(() => { throw failure; }))) === failure, "also at once");
    equal(await lock.run(() => 7), 7);
    equal((await lock.inspect()).holder, null);
  },

  async a_signal_list_is_fed_when_the_lock_becomes_free(stack) {
    const lock = stack.lock("a", { signalList: `${stack.mark}signal` });
    // The list has its item for a second.
    await eventually(async () => {
      await (await take(lock)).release();
      return (await stack.redis("LLEN ~signal")) === 1;
    });
  },

  async an_observer_or_wait_until_that_throws_harms_nobody(stack) {
    const bad = () => {
      throw new Error("not my day");
    };
    {
      using lease = await stack.client({ onEvent: bad, waitUntil: bad }).lock("a", LONG).acquire();
      await lease.renew();
    }
    await eventually(async () => (await stack.redis("EXISTS ~a")) === 0);
  },

  async a_bridge_that_says_to_come_back_tomorrow_is_not_waited_for_and_what_it_said_is_handed_on(stack) {
    const busy = async () => new Response("{}", { status: 429, headers: { "retry-after": "86400" } });
    const client = stack.client({ fetch: busy });
    const lock = client.lock("a");
    const lease = lock.resume("a".repeat(22));
    const read = () => client.read([["GET", { key: "n" }]]);
    const calls = [() => lock.tryAcquire(), () => lock.acquire(), () => lock.inspect(), () => lock.forceRelease(), read, () => lease.renew(), () => lease.release()];
    for (const call of calls) {
      const { retryAfter, isOutcomeUnknown } = await fails("unavailable", call());
      equal([retryAfter, isOutcomeUnknown], [86_400_000, false]);
    }
    const silent = async () => new Response("", { status: 503 });
    const error = await fails("unavailable", stack.client({ fetch: silent, maxAttempts: 1 }).lock("a").tryAcquire());
    equal([error.retryAfter, "cause" in error], [null, false]);
  },

  async a_connection_that_was_refused_carried_nothing_where_the_host_tells_that_apart(stack) {
    const acquire = (error: unknown) => stack.client({ fetch: () => Promise.reject(error), maxAttempts: 1 }).lock("a").tryAcquire();
    const caused = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error("connect"), { code }) });
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "ERR_TLS_CERT_ALTNAME_INVALID"]) {
      equal((await fails("unavailable", acquire(caused(code)))).isOutcomeUnknown, false);
      equal((await fails("unavailable", acquire(Object.assign(new TypeError(), { code })))).isOutcomeUnknown, false);
    }
    const badPort = new TypeError("fetch failed", { cause: new Error("bad port") });
    equal((await fails("unavailable", acquire(badPort))).isOutcomeUnknown, false);
    for (const error of [caused("ECONNRESET"), caused("UND_ERR_SOCKET"), new TypeError("Failed to fetch"), "ECONNREFUSED", undefined]) {
      equal((await fails("unavailable", acquire(error))).isOutcomeUnknown, true);
    }
  },

  async a_bridge_that_does_not_say_that_it_pushes_is_not_listened_to_unless_asked_for(stack) {
    for (const [says, push, listens] of [
      [false, undefined, false],
      [false, true, true],
      [true, undefined, true],
      [true, false, false],
    ] as const) {
      let subscriptions = 0;
      let asked = 0;
      const silenced = async (url: string, init: FetchInit): Promise<FetchResponse> => {
        const isSubscription = url.includes("/subscribe/");
        if (isSubscription) subscriptions++;
        else asked++;
        const response = await fetch(url, init);
        return says || isSubscription ? response : new Response(await response.text(), { status: response.status });
      };
      const holder = await take(stack.lock("a", LONG));
      const waiter = stack.client({ fetch: silenced, push }).lock("a", { wait: 20_000 }).acquire();
      await eventually(async () => (listens ? subscriptions === 1 : asked >= 3));
      await holder.release();
      await (await waiter).release();
      equal(subscriptions, listens ? 1 : 0);
    }
  },

  async the_environment_names_the_bridge_in_three_dialects(stack) {
    const { url, credential } = stack.bridge;
    for (const names of [["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"], ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"], ["KV_REST_API_URL", "KV_REST_API_TOKEN"]]) {
      const env = { [names[0]!]: url, [names[1]!]: credential, OTHER: "x" };
      await (await take(Client.fromEnv(env, { prefix: stack.mark }).lock("a"))).release();
      const denoEnv = { get: (name: string) => env[name] };
      await (await take(Client.fromEnv(denoEnv, { prefix: stack.mark }).lock("a"))).release();
    }
    // Half of a pair is an error. The next pair could be another Redis's, so it is not used.
    const half = { EDGELOCK_BRIDGE_CREDENTIAL: credential, KV_REST_API_URL: url, KV_REST_API_TOKEN: credential };
    const error = await fails("invalid_argument", () => Client.fromEnv(half));
    check(error.message.includes("EDGELOCK_BRIDGE_URL"), "it says what is missing");
    check(!error.message.includes(credential), "it does not tell the credential");
  },

  async no_error_and_nothing_printed_has_a_credential_or_a_token(stack) {
    const wrong = new Client({ url: stack.bridge.url, credential: "wrong-credential" });
    const error = await fails("unauthorized", wrong.lock("a").tryAcquire());
    const lease = await stack.lock("a").acquire();
    const shown = [error.stack, JSON.stringify([error, wrong, lease, await stack.lock("a").inspect()]), `${error}`].join();
    check(!shown.includes("wrong-credential") && !shown.includes(lease.token), "nothing shows");
    await lease.release();
  },
};
