// Each kind of call, to be made many times. Only the mix of calls uses a network.
import { Client, type ClientSettings, GroupCommit, type Lock, type LockOptions } from "edgelock";
import { Instant, settled } from "./instant.js";
import { type Bridge, check, eventually, fails, sleep } from "./harness.js";
import { MIX, mix } from "./soak.js";

/** A client whose bridge answers at once, and a client of the real bridge. */
class Bench {
  readonly client: Client;
  readonly real: Client;
  /** A lock for all calls. */
  readonly made: Lock;
  readonly n: { readonly key: string };

  constructor(readonly bridge: Bridge, readonly mark: string, readonly instant: Instant, settings: ClientSettings = {}) {
    const { url, credential } = bridge;
    this.real = new Client({ url, credential, prefix: mark });
    this.client = new Client({ url, credential, prefix: mark, push: true, fetch: instant.fetch, ...settings });
    this.made = this.lock();
    this.n = { key: `${mark}n` };
  }

  lock(options?: LockOptions): Lock {
    return this.client.lock("a", options);
  }
}

type Work = () => Promise<unknown>;

interface Kind {
  /** Makes the function that makes the call. */
  readonly prepare: (bench: Bench) => Work;
  readonly settings?: (instant: Instant) => ClientSettings;
  /** How many calls are made, 2,000 by default. All kinds together must be done soon. */
  readonly calls?: number;
  /** How many calls are under way at once, each by a client of its own. Default one. */
  readonly lanes?: number;
  /** Makes the first call, over the real bridge. By default it just calls. */
  readonly learn?: (bench: Bench, call: Work) => Promise<unknown>;
}

/** Calls that wait for a timer: workerd fires timers a millisecond or more apart. */
const BY_TIMERS = { calls: 1_500, lanes: 100 };

/** Makes the call while another holds the lock. */
async function held(bench: Bench, call: Work): Promise<void> {
  await bench.real.lock("a", { ttl: 600_000 }).acquire();
  await call();
}

/** Makes the call while another holds the lock, which is released once somebody listens. */
async function handedOver(bench: Bench, call: Work): Promise<void> {
  const { real, instant } = bench;
  const lease = await real.lock("a", { ttl: 600_000 }).acquire();
  const calling = call();
  await eventually(async () => instant.heard === 0 && (await real.lock("a").inspect()).waiters === 1);
  await lease.release();
  await calling;
  check(instant.heard === 1, "it was handed over");
}

const offline = () => Promise.reject(new Error("no network"));
const endless = () => new Promise<never>(() => {});

/** Acquires this, and releases it. */
const cycle = (lock: Pick<Lock, "acquire">): Work => async () => (await lock.acquire()).release();

/** The module has the listener, which has the client. */
const LISTENER = "acquire, release, by a client for each call that its listener refers to";

const KINDS_OF_CALLS: Readonly<Record<string, Kind | Kind["prepare"]>> = {
  "acquire, release": (bench) => cycle(bench.lock()),
  "acquire, release, with a signal of the caller's": (bench) => {
    const { signal } = new AbortController();
    const lock = bench.lock({ signal: new AbortController().signal });
    return cycle({ acquire: () => lock.acquire({ signal }) });
  },
  "acquire, look at the lease's signal, release": ({ made }) => async () => {
    const lease = await made.acquire();
    check(!lease.signal.aborted, "it is held");
    await lease.release();
  },
  "acquire and read, exec, renew, commit": ({ made, n }) => async () => {
    const [lease] = await made.acquireAndRead([["GET", n]]);
    await lease.exec([["SET", n, "x".repeat(100)]]);
    await lease.renew();
    await lease.commit([["GET", n]]);
  },
  "try and read, with the lock had and refused": ({ made, n }) => async () => {
    const [lease] = await made.tryAcquireAndRead([["GET", n]]);
    const [none] = await made.tryAcquireAndRead([["GET", n]]);
    check(none === null, "it is held");
    await lease?.release();
  },
  "run": { calls: 5_000, prepare: ({ made }) => () => made.run(async () => {}) },
  "run, with a signal of the caller's": ({ made }) => {
    const { signal } = new AbortController();
    return () => made.run(async () => {}, { signal });
  },
  "acquire, keep alive, stop, release": ({ made }) => async () => {
    const lease = await made.acquire();
    {
      using _alive = lease.keepAlive();
      await settled();
    }
    await lease.release();
  },
  "a lease that is handed over and resumed": ({ made }) => async () => made.resume((await made.acquire()).handOver()).release(),
  "a lease that is given back in the background": ({ made }) => async () => {
    {
      using _lease = await made.acquire();
    }
    await settled();
  },
  "a wait that a message ends": { learn: handedOver, prepare: (bench) => cycle(bench.lock({ wait: 30_000 })) },
  "a wait that time ends": {
    ...BY_TIMERS,
    learn: held,
    prepare(bench) {
      const lock = bench.lock({ wait: 10 });
      return () => fails("held", lock.acquire());
    },
  },
  "a wait that its caller ends": {
    learn: held,
    prepare: (bench) => async () => {
      const stop = new AbortController();
      const waiting = bench.lock({ wait: 30_000, signal: stop.signal }).acquire();
      const ended = waiting.then(() => check(false, "it waits"), (reason: unknown) => check(reason === stop, "as it was told"));
      await (bench.instant.isLearning ? sleep(1_000) : settled());
      stop.abort(stop);
      await ended;
    },
  },
  "try to acquire what another holds": { learn: held, prepare: ({ made }) => async () => check((await made.tryAcquire()) === null, "another holds it") },
  "turns that callers share": ({ made, n }) => {
    const group = new GroupCommit<number, number>({ reads: () => [["GET", n]], decide: (item) => ({ answer: item, writes: [["SET", n, item]] }) });
    return () => Promise.all([0, 1, 2].map((item) => group.submit(made, item)));
  },
  "acquire, release, of a semaphore": ({ client }) => cycle(client.semaphore("a", 3)),
  "acquire, release, of several names": ({ client }) => cycle(client.lockAll(["a", "b", "c"])),
  "acquire to write, downgrade, release": ({ client }) => {
    const writer = client.readWrite("a").write();
    return async () => {
      const lease = await writer.acquire();
      await lease.downgrade();
      await lease.release();
    };
  },
  "work that is executed once, and its repeat": ({ client }) => {
    const once = client.once("a");
    return async () => {
      const outcomes = [await once.run(() => 1), await once.run(() => 2)];
      check(outcomes.every(({ value, replayed }, at) => value === 1 && replayed === (at === 1)), "the result is kept");
    };
  },
  "a call of a throttle": ({ client }) => {
    const throttle = client.throttle("a", 600_000);
    return () => throttle.tryPass();
  },
  "a call of a debounce": {
    ...BY_TIMERS,
    prepare({ client }) {
      const debounce = client.debounce("a", 1);
      return () => debounce.run(async () => {});
    },
  },
  "read": ({ client }) => () => client.read([["GET", { key: "x" }]]),
  "inspect, force a release": ({ made }) => async () => [await made.inspect(), await made.forceRelease()],
  "a fetch that fails": {
    settings: () => ({ maxAttempts: 1, fetch: offline }),
    prepare: ({ made }) => () => fails("unavailable", made.tryAcquire()),
  },
  "a fetch that fails, and is repeated": {
    ...BY_TIMERS,
    settings(instant) {
      let requests = 0;
      return { maxAttempts: 100, fetch: (url, init) => (requests++ % 2 === 0 ? offline() : instant.fetch(url, init)) };
    },
    prepare: ({ client }) => () => client.read([["GET", { key: "x" }]]),
  },
  "a fetch that hangs": {
    ...BY_TIMERS,
    settings: () => ({ maxAttempts: 1, requestTimeout: 1, fetch: endless }),
    prepare: ({ client }) => () => fails("timed_out", client.read([["GET", { key: "x" }]])),
  },
  "acquire, release, over several bridges": ({ bridge: { url, credential }, mark, instant }) => {
    // One bridge that answers is enough to stand for several.
    const quorum = ["a", "b", "c"].map((name) => ({ url: `https://${name}.example`, credential }));
    return cycle(new Client({ quorum, prefix: mark, fetch: (_, init) => instant.fetch(url, init) }).lock("a"));
  },
  "acquire, release, by a client and a lock for each call": ({ bridge: { url, credential }, mark, instant }) => async () => {
    await cycle(new Client({ url, credential, prefix: mark, fetch: instant.fetch }).lock("a"))();
  },
  [LISTENER]: ({ bridge: { url, credential }, mark, instant }) => async () => {
    const client: Client = new Client({ url, credential, prefix: mark, fetch: instant.fetch, onEvent: () => void client });
    await cycle(client.lock("a"))();
  },
};

const kindOf = (of: Kind | Kind["prepare"]): Kind => (typeof of === "function" ? { prepare: of } : of);
const kinds = new Map(Object.entries(KINDS_OF_CALLS).map(([name, of]) => [name, kindOf(of)]));

/** Kinds that need finalizers: only the garbage collector knows that something is forgotten. */
export const FINALIZED: readonly string[] = [MIX, LISTENER, "a wait that its caller ends"];

/** How many calls are made of each kind. */
export const KINDS: ReadonlyMap<string, number> = new Map([
  [MIX, 2_500],
  ...[...kinds].map(([name, { calls = 2_000 }]): [string, number] => [name, calls]),
]);

/** Prepares a kind of call, and makes it once. The result makes so many calls. */
async function prepare(bridge: Bridge, name: string): Promise<(count: number) => Promise<void>> {
  if (name === MIX) return mix(bridge);
  const kind = kinds.get(name);
  if (kind === undefined) throw new Error(`no kind of call is ${name}`);
  const mark = `heap-${crypto.randomUUID().slice(0, 8)}:`;
  const bench = (instant: Instant) => new Bench(bridge, mark, instant, kind.settings?.(instant));
  const teacher = new Instant();
  const first = bench(teacher);
  await (kind.learn ?? ((_, call) => call()))(first, kind.prepare(first));
  // Waits for what goes on after the call.
  await sleep(100);
  const lanes = Array.from({ length: kind.lanes ?? 1 }, () => {
    const instant = new Instant(teacher);
    return { instant, call: kind.prepare(bench(instant)) };
  });
  return (count) => makeAll(lanes, count, teacher.requests);
}

/** Makes so many calls of a kind. Each kind is prepared when it is first made. */
export function maker(bridge: Bridge): (kind: string, count: number) => Promise<void> {
  const ready = new Map<string, (count: number) => Promise<void>>();
  return async (kind, count) => {
    const make = ready.get(kind) ?? (await prepare(bridge, kind));
    ready.set(kind, make);
    await make(count);
  };
}

interface Lane {
  readonly instant: Instant;
  readonly call: Work;
}

async function makeAll(lanes: readonly Lane[], count: number, requests: number): Promise<void> {
  const before = sum(lanes);
  let made = 0;
  await Promise.all(lanes.map(async ({ instant, call }) => {
    while (made < count) {
      made++;
      instant.begin();
      await call();
      // What happens between two requests to a host: timers fire, and finalizers run.
      if (made % 100 === 0) await sleep(0);
    }
  }));
  // Waits for what goes on after the last calls.
  await sleep(50);
  const each = (sum(lanes) - before) / made;
  check(each >= requests / 2 && each <= requests * 2, `it is the call that was learned: ${each} requests, which were ${requests}`);
}

const sum = (lanes: readonly Lane[]): number => lanes.reduce((requests, { instant }) => requests + instant.requests, 0);
