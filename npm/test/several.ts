// Locks over several bridges, in Node: by a majority.
import { type BridgeOptions, Client, type Command, type FetchInit, type FetchResponse, GroupCommit, idempotent, type Lock, QuarantinedError } from "edgelock";
import { check, eventually, fails, runTests } from "./harness.js";

const bridges = JSON.parse(process.env["EDGELOCK_BRIDGES"] ?? "[]") as Array<{ readonly url: string; readonly credential: string }>;
/** A bridge that accepts no connections. */
const dead = { url: "http://127.0.0.1:1", credential: "credential" };

const mark = (): string => `${crypto.randomUUID().slice(0, 8)}:`;

/** A lock that waits, since it does not count servers that have been up for less than its ttl. */
const lockOver = (quorum: readonly BridgeOptions[], prefix = mark()): Lock => new Client({ quorum, prefix }).lock("a", { ttl: 3_000, wait: 20_000 });

const tests: Record<string, () => Promise<void>> = {
  async servers_that_were_started_lately_have_no_say_and_nobody_is_said_to_hold_the_lock() {
    const restartQuarantine = 366 * 86_400_000;
    const lock = new Client({ quorum: bridges, prefix: mark(), restartQuarantine }).lock("a", { wait: 86_400_000 });
    for (const ask of [() => lock.tryAcquire(), () => lock.acquire()]) {
      const error = await fails("quarantined", ask);
      check(error instanceof QuarantinedError && error.retryAfter > restartQuarantine / 2 && !error.isOutcomeUnknown, String(error));
    }
    const { holder, quarantineRemaining: left } = await lock.inspect();
    check(holder === null && left !== null && left > restartQuarantine / 2, String(left));
  },

  async what_several_bridges_cannot_have_in_common_is_refused() {
    const client = new Client({ quorum: bridges, prefix: mark() });
    const read: Command[] = [["GET", { key: "x" }]];
    await fails("invalid_argument", client.read(read));
    await fails("invalid_argument", client.lock("a").acquireAndRead(read));
    await fails("invalid_argument", client.lock("a").tryAcquireAndRead(read));
    await fails("invalid_argument", async () => client.reentrant("a", "owner").acquire());
    await fails("invalid_argument", async () => client.semaphore("a", 2).acquire());
    await fails("invalid_argument", async () => client.readWrite("a").read().acquire());
    await fails("invalid_argument", async () => client.lockAll(["a", "b"]).acquire());
    await fails("invalid_argument", async () => client.once("a").run(() => 1));
    await fails("invalid_argument", async () => idempotent(() => new Response(), { client, key: () => "a" })(new Request("https://a.example")));
    await fails("invalid_argument", async () => client.throttle("a", 1_000).tryPass());
    await fails("invalid_argument", async () => client.debounce("a", 1_000).run(() => 1));
    for (const options of [{ fair: true }, { waitForReplicas: { count: 1, within: 100 } }, { signalList: "list" }]) {
      await fails("invalid_argument", async () => client.lock("a", options).tryAcquire());
    }
    const group = new GroupCommit({ reads: () => read, decide: () => ({ answer: 1 }) });
    await fails("invalid_argument", group.submit(client.lock("a"), 1));
    const lease = await lockOver(bridges).acquire();
    await fails("invalid_argument", lease.exec(read));
    await fails("invalid_argument", lease.commit(read));
    await fails("invalid_argument", lease.renew({ ttl: 60_000 }));
    await lease.release();
    for (const quorum of [[], [dead, dead], "odd", [7]]) {
      await fails("invalid_argument", async () => new Client({ quorum: quorum as never }).lock("a").tryAcquire());
    }
    await fails("invalid_argument", () => new Client({ quorum: bridges, restartQuarantine: "odd" as never }));
  },

  async an_answer_that_is_too_late_to_count_is_heard_out_and_its_request_not_broken_off() {
    let answer!: () => void;
    const late = new Promise<void>((resolve) => (answer = resolve));
    const [signals, answered] = [[] as AbortSignal[], [] as AbortSignal[]];
    const hold = async (url: string, init: FetchInit): Promise<FetchResponse> => {
      if (!url.startsWith(bridges[2]!.url)) return fetch(url, init);
      signals.push(init.signal);
      await late;
      const response = await fetch(url, init);
      answered.push(init.signal);
      return response;
    };
    const client = new Client({ quorum: bridges, prefix: mark(), fetch: hold, requestTimeout: 30_000 });
    const lease = await client.lock("a", { ttl: 3_000, wait: 20_000 }).acquire();
    check(signals.length > 0 && signals.every(({ aborted }) => !aborted), "none is broken off");
    answer();
    await eventually(() => answered.length === signals.length);
    await lease.release();
  },
};

runTests(Object.entries(tests), console.log).then((passed) => process.exit(passed ? 0 : 1));
