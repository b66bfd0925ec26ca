// What every kind of lock promises, each promise once for all kinds. A kind's own file has what no
// other has. What its Lua alone decides is promised in tests/it.
import { Client, type Command, GroupCommit, HeldError, type Lock, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, Network, releaseAll, Stack, type Suite, take } from "./harness.js";

type Ask = (client: Client, options?: Pick<LockOptions, "ttl">) => Lock;

const KINDS: Readonly<Record<string, Ask>> = {
  lock: (client, options) => client.lock("a", options),
  reentrant: (client, options) => client.reentrant("a", "me", options),
  semaphore: (client, options) => client.semaphore("a", 2, options),
  reservation: (client, options) => client.reservations("a", 2, options),
  reader: (client, options) => client.readWrite("a").read(options),
  writer: (client, options) => client.readWrite("a").write(options),
  several: (client, options) => client.lockAll(["b", "a"], options),
  limits: (client, options) => client.limits([{ name: "b", limit: 2 }, { name: "a", limit: 2 }], options),
};

/** Options that some kinds have, and which. */
const OPTIONS: ReadonlyArray<readonly [option: object, has: readonly string[]]> = [
  [{ fair: true }, ["lock", "semaphore", "reader", "writer", "several"]],
  [{ label: "x" }, ["lock", "semaphore", "reader", "writer", "several", "limits"]],
  [{ weight: 1 }, ["semaphore", "reservation"]],
  [{ owner: { id: "ann", most: 1 } }, ["reservation"]],
  [{ signalList: "b" }, ["lock"]],
  [{ takeOver: true }, ["lock"]],
];

type Make = (client: Client) => Lock;

/** What a kind tells of those who hold it. */
interface Shown {
  /** Leases that are taken one after the other. */
  readonly holds: readonly Make[];
  /** Refused meanwhile, because of this name and of the holder with this label. */
  readonly refused: readonly [ask: (client: Client, options: { readonly wait: 0 }) => Lock, name: string, label: string | null];
  readonly inspected: Make;
  /** Each with its label, and how many times it has the lock: in the order in which they end. */
  readonly holders: ReadonlyArray<readonly [label: string | null, count: number]>;
  /** What else an inspection says, if it is not as of a lock. */
  readonly others?: object;
}

const LABELLED = { ttl: 60_000, label: "me" };
const SHOWN: Readonly<Record<string, Shown>> = {
  lock: { holds: [(client) => client.lock("a", LABELLED)], refused: [(client, once) => client.lock("a", once), "a", "me"], inspected: (client) => client.lock("a"), holders: [["me", 1]] },
  reentrant: {
    holds: [(client) => client.reentrant("a", "an owner"), (client) => client.reentrant("a", "an owner")],
    refused: [(client, once) => client.reentrant("a", "another", once), "a", null],
    inspected: (client) => client.reentrant("a", "another"),
    holders: [[null, 2]],
  },
  semaphore: {
    holds: [(client) => client.semaphore("a", 6, { ...LABELLED, weight: 3 }), (client) => client.semaphore("a", 6)],
    refused: [(client, once) => client.semaphore("a", 6, { ...once, weight: 3 }), "a", null],
    inspected: (client) => client.semaphore("a", 6),
    holders: [[null, 1], ["me", 3]],
    others: { free: 2 },
  },
  reservation: {
    holds: [(client) => client.reservations("a", 9, { owner: { id: "ann, 7", most: 5 }, weight: 4 })],
    refused: [(client, once) => client.reservations("a", 9, { ...once, weight: 6 }), "a", null],
    inspected: (client) => client.reservations("a", 9),
    holders: [["ann, 7", 4]],
    others: { free: 5, confirmed: 0 },
  },
  readers: {
    holds: [(client) => client.readWrite("a").read(LABELLED), (client) => client.readWrite("a").read()],
    refused: [(client, once) => client.readWrite("a").write(once), "a", "me"],
    inspected: (client) => client.readWrite("a").write(),
    holders: [[null, 1], ["me", 1]],
    others: { isRead: true },
  },
  writer: {
    holds: [(client) => client.readWrite("a").write(LABELLED)],
    refused: [(client, once) => client.readWrite("a").read(once), "a", "me"],
    inspected: (client) => client.readWrite("a").read(),
    holders: [["me", 1]],
  },
  several: {
    holds: [(client) => client.lockAll(["c", "a"], LABELLED), (client) => client.lock("b")],
    refused: [(client, once) => client.lockAll(["d", "c"], once), "c", "me"],
    inspected: (client) => client.lockAll(["a", "b", "c"]),
    holders: [["me", 1], [null, 1]],
  },
  limits: {
    holds: [(client) => client.limits([{ name: "a", limit: 1 }, { name: "b", limit: 3, permits: 2 }], LABELLED)],
    refused: [(client, once) => client.limits([{ name: "b", limit: 3, permits: 2 }, { name: "c", limit: 1 }], once), "b", "me"],
    inspected: (client) => client.limits([{ name: "a", limit: 5 }, { name: "b", limit: 3 }]),
    holders: [["me", 1]],
    others: { free: 1 },
  },
};
/** What an inspection says of a lock that nobody holds. */
const FREE = { free: null, confirmed: null, isRead: false, waiters: 0, quarantineRemaining: null };

/** What is refused on this side, and of what the module refuses one of each. */
const ODD: Readonly<Record<string, readonly [ask: (client: Client, odd: never) => Lock, odd: readonly unknown[]]>> = {
  permits: [(client, permits) => client.semaphore("a", permits), [0, Infinity, 2 ** 32, undefined]],
  units: [(client, units) => client.reservations("a", units), [0, Infinity, 2 ** 32, undefined]],
  owner: [
    (client, owner) => client.reservations("a", 3, { owner }),
    [{ id: "", most: 1 }, { id: "ann", most: 0 }, { id: "ann" }, { id: 7, most: 1 }, { most: 1 }, "ann", null, { id: "ann", most: 1, least: 0 }],
  ],
  names: [(client, names) => client.lockAll(names), [undefined, null, 7, {}, "ab", [7], [null], [], ["a", "b", "a"]]],
  limits: [(client, limits) => client.limits(limits), [undefined, null, "a", ["a"], [], [{ name: "a" }], [{ name: "a", limit: 0 }]]],
  "a limit": [
    (client, of: object) => client.limits([{ name: "a", limit: 3, ...of }]),
    [{ permits: 4 }, { permits: 0 }, { weight: 1 }],
  ],
};

/** Holds each kind to a promise, with names of its own: one by one, unless that takes long. */
const each = (promise: (stack: Stack, ask: Ask, kind: string) => Promise<void>, isLong = false) => async ({ bridge }: Stack) => {
  const told = (kind: string) => (error: Error) => Promise.reject(new Error(`a ${kind}: ${error.stack}`));
  const tries = Object.entries(KINDS).map(([kind, ask]) => () => promise(new Stack(bridge), ask, kind).catch(told(kind)));
  if (isLong) await Promise.all(tries.map((tried) => tried()));
  else for (const tried of tries) await tried();
};

const incr = ({ mark }: Stack): Command[] => [["INCR", { key: `${mark}n` }]];
const isFree = async (stack: Stack): Promise<boolean> => (await stack.redis("EXISTS ~a ~b")) === 0;

export const kinds: Suite = {
  commands_run_under_a_hold_of_any_kind_and_not_behind_it: each(async (stack, ask) => {
    const lock = ask(stack.client());
    for (const call of ["exec", "commit", "release"] as const) {
      const lost = await take(lock);
      await lost.exec(incr(stack));
      await stack.redis("DEL ~a");
      await fails("lost", call === "release" ? lost.release() : lost[call](incr(stack)));
    }
    const lease = await take(lock);
    equal([await lease.exec(incr(stack)), await lease.commit(incr(stack))], [[4], [5]]);
    equal(await isFree(stack), true);
  }),

  a_lost_reply_or_a_repeat_counts_once_for_any_kind: each(async (stack, ask) => {
    const network = new Network("lose the answer", "pass", "lose the answer", "pass", "lose the answer");
    const lease = await take(ask(stack.client(network)));
    await lease.exec(incr(stack));
    await lease.release();
    equal([await isFree(stack), await stack.redis("GET ~n")], [true, "1"]);
  }),

  an_acquisition_of_any_kind_that_was_given_up_holds_nothing: each(async (stack, ask) => {
    const client = stack.client({ ...new Network("lose the answer"), maxAttempts: 1 });
    equal((await fails("unavailable", ask(client).tryAcquire())).isOutcomeUnknown, true);
    await eventually(() => isFree(stack));
  }),

  a_hold_of_any_kind_goes_on_in_another_handler_by_its_token: each(async (stack, ask) => {
    const lease = await take(ask(stack.client(), { ttl: 60_000 }));
    const { fence } = lease;
    const resumed = ask(stack.client()).resume(lease.handOver());
    equal([resumed.fence, resumed.remaining], [0, 0]);
    await resumed.renew();
    equal(resumed.fence, fence);
    check(resumed.remaining > 50_000, "it is renewed for what it was acquired for");
    equal([await resumed.commit(incr(stack)), await isFree(stack)], [[1], true]);
  }),

  a_lock_of_any_kind_is_kept_while_work_runs_and_given_back_behind_it: each(async (stack, ask) => {
    let renewals = 0;
    const client = stack.client({ onEvent: ({ type }) => void (renewals += type === "renewed" ? 1 : 0) });
    const isHeld = await ask(client, { ttl: 4_500 }).run(async (lease) => {
      // One renewal every third of the ttl.
      await eventually(() => renewals >= 4);
      return lease.remaining > 0 && !(await isFree(stack));
    });
    equal([isHeld, await isFree(stack)], [true, true]);
  }, true),

  a_forced_release_frees_any_kind_of_all_who_hold_it: each(async (stack, ask) => {
    const lock = ask(stack.client());
    equal(await lock.forceRelease(), false);
    const leases = [await take(lock), await lock.tryAcquire()];
    equal([await lock.forceRelease(), await isFree(stack)], [true, true]);
    for (const lease of leases) await (lease && fails("lost", lease.renew()));
  }),

  an_option_of_another_kind_or_of_none_or_out_of_range_is_refused: each(async (stack, ask, kind) => {
    for (const odd of [{ tll: 5_000 }, { ttl: 10.5 }]) await fails("invalid_argument", () => ask(stack.client(), odd as object));
    for (const [option, has] of OPTIONS) {
      if (has.includes(kind)) ask(stack.client(), option as object);
      else check((await fails("invalid_argument", () => ask(stack.client(), option as object))).message.includes(" is no option of "), kind);
    }
  }),

  callers_share_turns_of_what_one_has_at_a_time_and_of_nothing_else: each(async (stack, ask, kind) => {
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    const submitted = group.submit(ask(stack.client()), 7);
    await (kind === "lock" || kind === "writer" ? submitted.then((answer) => equal(answer, 7)) : fails("invalid_argument", submitted));
    if (kind === "lock") await fails("invalid_argument", group.submit(stack.lock("a", { takeOver: true }), 7));
  }),

  async what_is_held_is_refused_by_its_name_and_shown_with_its_holders({ bridge }) {
    for (const [kind, { holds, refused: [ask, name, label], inspected, holders, others }] of Object.entries(SHOWN)) {
      const stack = new Stack(bridge);
      const client = stack.client();
      const [lock, refused] = [inspected(client), ask(client, { wait: 0 })];
      const free = await lock.inspect();
      equal([kind, free.holder, free.holders, free.fence], [kind, null, [], null]);
      const leases = [];
      for (const hold of holds) leases.push(await take(hold(client)));
      equal([kind, await refused.tryAcquire()], [kind, null]);
      const error = await fails("held", refused.acquire());
      check(error instanceof HeldError && error.remaining !== null && error.remaining > 0, kind);
      equal([kind, error.lock, error.label], [kind, stack.mark + name, label]);
      const { holder, holders: found, fence, ...rest } = await lock.inspect();
      equal([kind, found.map(({ label, count }) => [label, count]), fence, rest], [kind, holders, leases.at(-1)?.fence, { ...FREE, ...others }]);
      // Whoever has a token can release the lock, so it must not be shown by accident.
      const tokens = leases.map(({ token }) => token);
      check(holder?.token === found[0]?.token && tokens.every((token) => !JSON.stringify([holder, found]).includes(token)), kind);
      await releaseAll(...leases);
      await releaseAll(await take(refused));
    }
  },

  async what_no_kind_can_be_asked_for_is_refused() {
    const client = new Client({ url: "http://127.0.0.1:1", credential: "x", maxAttempts: 1 });
    for (const [ask, odds] of Object.values(ODD)) {
      for (const odd of odds) await fails("invalid_argument", async () => ask(client, odd as never).tryAcquire());
    }
  },
};
