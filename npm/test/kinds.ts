// What every kind of lock promises, each promise once for all kinds. A kind's own file has what its
// options and its inspection say. What its Lua alone decides is promised in tests/it.
import { type Client, type Command, GroupCommit, type Lock, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, Network, Stack, type Suite, take } from "./harness.js";

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

  an_option_of_another_kind_is_refused: each(async (stack, ask, kind) => {
    for (const [option, has] of OPTIONS) {
      if (has.includes(kind)) ask(stack.client(), option as object);
      else check((await fails("invalid_argument", () => ask(stack.client(), option as object))).message.includes(" is no option of "), kind);
    }
  }),

  callers_share_turns_of_what_one_has_at_a_time_and_of_nothing_else: each(async (stack, ask, kind) => {
    const group = new GroupCommit<number, number>({ reads: () => [], decide: (answer) => ({ answer }) });
    const submitted = group.submit(ask(stack.client()), 7);
    await (kind === "lock" || kind === "writer" ? submitted.then((answer) => equal(answer, 7)) : fails("invalid_argument", submitted));
  }),

  async permits_and_units_are_a_whole_number_of_one_or_more(stack) {
    const client = stack.client();
    for (const odd of [0, Infinity, 2 ** 32, undefined]) {
      await fails("invalid_argument", () => client.semaphore("a", odd as number));
      await fails("invalid_argument", () => client.reservations("a", odd as number));
    }
  },
};
