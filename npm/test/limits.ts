// Numbers and text at the limits: a clear error, or what the documentation says, and never a module
// that fails.
import { Client, type ClientOptions, type Command, GroupCommit, type LockOptions } from "edgelock";
import { check, equal, eventually, fails, type Stack, type Suite, thrown } from "./harness.js";
import { calls } from "./javascript.js";

const NO_NUMBERS: readonly unknown[] = [NaN, -1, -0.5, -5e-324, -Infinity, "7", "", 7n, null, true, {}, [7], Symbol("7"), new Date(7)];
const FRACTIONS: readonly number[] = [0.5, 1.5, 5e-324];
/** No number of JavaScript's is exact there. */
const TOO_LARGE: readonly number[] = [Number.MAX_VALUE, 2 ** 63, 2 ** 53];
const HUGE: readonly number[] = [Infinity, 2 ** 53 - 1, 9e15, 2 ** 32, 2 ** 31, 2 ** 31 - 1];

/** Half of a surrogate pair: alone, behind a character, before one, twice, in the wrong order. */
const NO_TEXT: readonly string[] = ["\ud800", "a\udfff", "\udbffa", "\ud83d\ud83d", "\ude00\ud83d"];

/** More than the module takes of anything. */
const LONG = "x".repeat(2 ** 24 + 1);

const refuses = async (call: () => unknown): Promise<void> => {
  const error = await fails("invalid_argument", async () => call());
  check(!error.isOutcomeUnknown, "nothing was sent");
};

/** Waits for a lock that is released as soon as somebody stands in its queue. */
async function waits(stack: Stack, push: boolean, options: LockOptions): Promise<void> {
  const held = await stack.lock("a").acquire();
  const waiting = stack.client({ push }).lock("a", options).acquire();
  await Promise.race([waiting, eventually(async () => (await stack.lock("a").inspect()).waiters === 1)]);
  await held.release();
  await (await waiting).release();
}

export const limits: Suite = {
  async a_number_that_cannot_be_meant_is_refused_wherever_it_stands(stack) {
    const client = stack.client();
    const lease = await client.lock("a").acquire();
    const { url, credential } = stack.bridge;
    const places: Array<(value: never) => unknown> = [
      (ttl) => client.lock("b", { ttl }),
      (wait) => client.lock("b", { wait }),
      (maxHold) => client.lock("b", { maxHold }),
      (maxRequests) => client.lock("b", { maxRequests }),
      (count) => client.lock("b", { waitForReplicas: { count, within: 10 } }),
      (within) => client.lock("b", { waitForReplicas: { count: 1, within } }),
      (permits) => client.semaphore("b", permits),
      (weight) => client.semaphore("b", 2, { weight }),
      (keep) => client.once("b", { keep }),
      (maxBytes) => client.once("b", { maxBytes }),
      (window) => client.throttle("b", window),
      (wait) => client.debounce("b", wait),
      (maxWait) => client.debounce("b", 5, { maxWait }),
      (maxAttempts) => new Client({ url, credential, maxAttempts }),
      (requestTimeout) => new Client({ url, credential, requestTimeout }),
      (fenceLife) => new Client({ url, credential, fenceLife }),
      (restartQuarantine) => new Client({ quorum: [{ url, credential }], restartQuarantine }),
      (ttl) => lease.renew({ ttl }),
      (maxHold) => lease.keepAlive({ maxHold }),
      (maxHold) => lease.run(() => check(false, "no work without a limit"), { maxHold }),
    ];
    for (const place of places) for (const value of [...NO_NUMBERS, ...FRACTIONS]) await refuses(() => place(value as never));
    await lease.release();
  },

  async an_option_that_nobody_knows_is_refused_by_its_name_and_the_one_that_was_meant_is_named(stack) {
    const { url, credential } = stack.bridge;
    const client = stack.client();
    const lease = client.lock("a").resume("a".repeat(22));
    const bad = { signl: undefined } as never;
    const places: Array<readonly [call: () => unknown, unknown: string, meant: string]> = [
      [() => client.lock("a", { tll: 5 } as never), "tll", "ttl"],
      [() => client.reentrant("a", "owner", { fair: true } as never), "fair", ""],
      [() => client.once("a", { fingerprnt: "x" } as never), "fingerprnt", "fingerprint"],
      [() => client.debounce("a", 5, { maxwait: 7 } as never), "maxwait", "maxWait"],
      [() => client.lock("a", { waitForReplicas: { count: 1, withn: 5 } as never }), "withn", "within"],
      [() => new Client({ url, credential, onevent: () => {} } as never), "onevent", "onEvent"],
      [() => new Client({ url, credential, restartQuarantine: 5 } as never), "restartQuarantine", ""],
      [() => new Client({ url, webdis: { user: "", pasword: "" } } as never), "pasword", "password"],
      [() => new Client({ quorum: [{ url, credential }], restartQuarantin: 5 } as never), "restartQuarantin", "restartQuarantine"],
      [() => new Client({ quorum: [{ url, credential, credentia: 5 } as never] }), "credentia", "credential"],
      [() => new Client({ shards: { a: { url, credential, timeout: 5 } } } as never), "timeout", ""],
      [() => Client.fromEnv({}, { prefx: "" } as never), "prefx", "prefix"],
      [() => new GroupCommit({ reads: () => [], decide: () => ({ answer: 7 }) }, { maxItem: 5 } as never), "maxItem", "maxItems"],
      [() => lease.run(() => 7, bad), "signl", "signal"],
      [() => lease.keepAlive(bad), "signl", "signal"],
      ...Object.values(calls(stack)).map((call) => [() => call(client, bad), "signl", "signal"] as const),
    ];
    for (const [call, unknown, meant] of places) {
      const { message } = await fails("invalid_argument", async () => call());
      check(message.includes(`"${unknown}" is no option of `) && message.endsWith(meant && `did you mean ${meant}?`), message);
      if (!meant) check(message.includes(": there are "), message);
    }
  },

  async what_is_missing_in_an_array_is_refused(stack) {
    const lease = stack.lock("a").resume("a".repeat(22));
    const hole = new Array<never>(1);
    for (const commands of [hole, [hole], [["GET", ...hole]], [["SET", { key: "x" }, , "y"]]]) {
      await refuses(() => lease.exec(commands as never));
      await refuses(() => stack.client().read(commands as never));
    }
    await refuses(() => new Client({ quorum: hole }));
  },

  async a_huge_number_is_refused_or_as_good_as_without_limit(stack) {
    const { url, credential } = stack.bridge;
    const longest = 366 * 24 * 60 * 60 * 1_000;
    for (const huge of HUGE) {
      const isNumber = huge < 2 ** 32 || huge === Infinity;
      const many = isNumber ? huge : Infinity;
      if (!isNumber) {
        await refuses(() => stack.client({ maxAttempts: huge }));
        await refuses(() => stack.lock("a", { maxRequests: huge }));
      }
      const lock = stack.client({ requestTimeout: huge, maxAttempts: many }).lock("a", { wait: huge, maxRequests: many, maxHold: huge });
      equal(await lock.run((lease) => lease.fence > 0), true);
      if (huge > longest) {
        await refuses(() => stack.lock("a", { ttl: huge }));
      } else {
        const lease = await stack.lock("a", { ttl: huge }).acquire();
        await lease.renew();
        check(!lease.signal.aborted && lease.remaining > huge / 2, "it does not fire at once");
        await lease.release();
      }
      if (huge > 60_000) await refuses(() => stack.lock("a", { waitForReplicas: { count: 1, within: huge } }));
      await fails("not_replicated", stack.lock("a", { waitForReplicas: { count: many, within: 1 } }).tryAcquire());
      const quorum: ClientOptions = { quorum: [{ url, credential }], restartQuarantine: huge };
      const acquire = async () => new Client(quorum).lock(`${stack.mark}q`, { wait: 0 }).acquire();
      await fails(huge > longest ? "invalid_argument" : "quarantined", acquire);
    }
    for (const huge of TOO_LARGE) {
      await refuses(() => stack.client({ requestTimeout: huge }));
      for (const name of ["wait", "maxHold", "ttl"]) await refuses(() => stack.lock("a", { [name]: huge }));
    }
  },

  async a_wait_of_any_length_ends_when_the_lock_is_given_back(stack) {
    for (const wait of HUGE) for (const push of [true, false]) await waits(stack, push, { wait, maxRequests: Infinity });
    await waits(stack, true, { wait: Infinity });
  },

  async text_that_is_no_unicode_or_too_long_is_refused_wherever_it_stands(stack) {
    const { url, credential } = stack.bridge;
    const sent: string[] = [];
    const client = stack.client({ fetch: async (to, init) => (sent.push(to), fetch(to, init)) });
    const lease = client.lock("a").resume("a".repeat(22));
    const places: Array<(text: string) => unknown> = [
      (name) => client.lock(name),
      (name) => client.reentrant(name, "owner"),
      (name) => client.semaphore(name, 2),
      (name) => client.readWrite(name).read(),
      (name) => client.lockAll(["a", name]),
      (key) => client.once(key),
      (fingerprint) => client.once("a", { fingerprint }),
      (name) => client.throttle(name, 1),
      (name) => client.debounce(name, 1),
      (label) => client.lock("a", { label }),
      (owner) => client.reentrant("a", owner),
      (prefix) => new Client({ url, credential, prefix }),
      (text) => new Client({ url: `${url}/${text}`, credential }),
      (text) => new Client({ url, credential: text }),
      (user) => new Client({ url, webdis: { user, password: "" } }),
      (password) => new Client({ url, webdis: { user: "", password } }),
      (id) => new Client({ shards: { [id]: { url, credential } } }),
      (signalList) => client.lock("a", { signalList }),
      (text) => client.lock("a").resume(text),
      (shardOf) => client.read([["GET", { key: "x" }]], { shardOf }),
      (word) => client.read([["GET", word]]),
      (key) => client.read([["GET", { key }]]),
      (name) => client.read([[name]]),
      (word) => lease.exec([["GET", { key: "x" }], ["SET", { key: "x" }, word]]),
      (word) => lease.commit([["SET", { key: "x" }, word]]),
      (word) => client.lock("a").acquireAndRead([["GET", word]]),
      (word) => client.lock("a").tryAcquireAndRead([["GET", word]]),
    ];
    const prototype = String.prototype as { isWellFormed?: () => boolean };
    const { isWellFormed } = prototype;
    try {
      for (const known of [isWellFormed, undefined]) {
        Object.assign(prototype, { isWellFormed: known });
        for (const place of places) for (const half of NO_TEXT) await refuses(() => place(`x${half}x`));
        client.lock("a 😀");
      }
    } finally {
      Object.assign(prototype, { isWellFormed });
    }
    for (const place of places) for (const bad of [...NO_TEXT, LONG]) await refuses(() => place(bad));
    equal(sent, []);
  },

  async text_of_any_language_comes_back_as_it_was(stack) {
    const whole = "naïve ☃ 😀 \u{10ffff} \ufffd \0";
    const lease = await stack.lock(whole, { wait: 0 }).acquire();
    equal(lease.name, whole);
    const set: Command = ["SET", { key: `${stack.mark}value ${whole}` }, whole, "PX", 1_000];
    const get: Command = ["GET", { key: `${stack.mark}value ${whole}` }];
    equal(await lease.commit([set, get]), ["OK", whole]);
    const error = await thrown(() => stack.lock("\ud800"));
    check(error instanceof Error && /surrogate/.test(error.message), `${String(error)}`);
  },
};
