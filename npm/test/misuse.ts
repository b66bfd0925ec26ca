// The exact messages for wrong uses. They say what was wrong, and what to write instead. Those of
// the module come as tests/it/misuse.rs has them, so one of each way to it is here.
import { Client, type ClientOptions, EdgelockError, type FetchResponse, GroupCommit, type Lease, type LockOptions } from "edgelock";
import { check, equal, type Suite, thrown } from "./harness.js";

const GOOD = { url: "https://bridge.example", credential: "a-credential-of-a-bridge" };
const TOKEN = "a".repeat(22);
/** The lock called a, which all offline calls are about. */
const A = `(for "a")`;
const noTtl = (ms: string) => `a ttl is 4 ms to 366 days, in whole milliseconds (10 s are 10,000), not ${ms} ms ${A}`;
const noTime = (what: string, given: string) => `${what} is a whole number of milliseconds, 0 or more, not ${given}`;
const noLimit = (what: string, least: number, given: string) => `${what} is a whole number of milliseconds, ${least} or more, or Infinity for no limit, not ${given}`;
const noCount = (what: string, least: number, given: string) => `${what} is a whole number, ${least} to 4294967295, or Infinity for no limit, not ${given}`;
const NO_HTTPS = "the bridge's address does not begin with https://, nor with http:// on this machine";
const UNSET = "undefined: is its variable set?";

type Use = readonly [use: () => unknown, told: string];

/** A call that is refused before it reaches a bridge, or that a bridge answers in this way. */
const offline = (settings: object = {}) => new Client({ ...GOOD, ...settings } as ClientOptions);
const lock = (options: object = {}, name: unknown = "a") => offline().lock(name as string, options as LockOptions).tryAcquire();
const made = (options: unknown) => new Client(options as ClientOptions).lock("a").tryAcquire();
const lease = () => offline().lock("a").resume(TOKEN);
const exec = (...commands: unknown[]) => lease().exec(commands as never);

const CLIENTS: readonly Use[] = [
  [() => made(undefined), `a client is made of { url, credential }, not of ${UNSET}`],
  [() => made("https://bridge.example"), "a client is made of { url, credential }, not of a string"],
  [() => made({}), `url is a string, not ${UNSET}`],
  [() => made({ ...GOOD, url: new URL(GOOD.url) }), "url is a string, not an object"],
  [() => made({ ...GOOD, url: "bridge.example" }), NO_HTTPS],
  [() => made({ url: GOOD.url }), `credential is a string, not ${UNSET}`],
  [() => made({ url: GOOD.url, token: "x" }), `"token" is no option of a client: it is called credential here`],
  [() => made({ ...GOOD, requestTimeout: 0.5 }), noLimit("requestTimeout", 1, "0.5; round it: 1")],
  [() => made({ ...GOOD, requestTimeout: 0 }), noLimit("requestTimeout", 1, "0")],
  [() => made({ ...GOOD, maxAttempts: 0 }), noCount("maxAttempts", 1, "0")],
  [() => made({ ...GOOD, maxAttempts: 2 ** 32 }), noCount("maxAttempts", 1, "4294967296")],
  [() => made({ quorum: [GOOD], restartQuarantine: 0.5 }), noTime("restartQuarantine", "0.5; round it: 1")],
  [() => made({ ...GOOD, push: "yes" }), "push is true or false, not a string"],
  [() => made({ ...GOOD, prefix: 7 }), "prefix is a string, not 7"],
  [() => made({ ...GOOD, onEvent: {} }), "onEvent is a function, not an object"],
  [() => made({ ...GOOD, fetch: GOOD.url }), "fetch is a function, not a string"],
  [() => made({ ...GOOD, waitUntil: true }), "waitUntil is a function, not true"],
  [() => made({ ...GOOD, signal: true }), "signal is an AbortSignal, not true"],
  [() => made({ url: GOOD.url, webdis: { user: "u" } }), `webdis.password is a string, not ${UNSET}`],
  [() => made({ quorum: GOOD }), "quorum is an array of bridges, each { url, credential }"],
  [() => made({ quorum: [{ ...GOOD, push: 1 }] }), "push is true or false, not 1"],
  [() => made({ quorum: [{ ...GOOD, prefix: "" }] }), "\"prefix\" is no option of a bridge: there are url, credential, webdis, push, keyLocking, plainHttp"],
  [() => made({ shards: { a: GOOD.url } }), "a bridge is { url, credential }"],
  [() => Client.fromEnv({ EDGELOCK_BRIDGE_URL: GOOD.url }), "the environment has EDGELOCK_BRIDGE_URL, and no EDGELOCK_BRIDGE_CREDENTIAL: set both"],
  [() => Client.fromEnv({ UPSTASH_REDIS_REST_TOKEN: "x" }), "the environment has UPSTASH_REDIS_REST_TOKEN, and no UPSTASH_REDIS_REST_URL: set both"],
  [
    () => Client.fromEnv({}),
    "the environment names no bridge: set EDGELOCK_BRIDGE_URL and EDGELOCK_BRIDGE_CREDENTIAL, or UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or KV_REST_API_URL and KV_REST_API_TOKEN; a host that asks for permissions must let them be read",
  ],
];

const LOCKS: readonly Use[] = [
  [() => offline().lock(undefined as never), `a lock's name is a string, not ${UNSET}`],
  [() => lock({}, 42), "a lock's name is a string, not 42"],
  [() => lock({}, "\ud800"), "a lock's name is no Unicode text: half of a surrogate pair is missing"],
  [() => lock({ ttl: 0 }), noTtl("0")],
  [() => lock({ ttl: 10.5 }), noTime("ttl", "10.5; round it: 11")],
  [() => lock({ ttl: Infinity }), noTime("ttl", "Infinity: it must have an end")],
  [() => lock({ ttl: "10s" }), noTime("ttl", "a string")],
  [() => lock({ wait: 2 ** 53 }), noLimit("wait", 0, "9007199254740992")],
  [() => lock({ lease: 5_000 }), `"lease" is no option of a lock: it is called ttl here`],
  [() => lock({ lockTimeout: 5_000 }), `"lockTimeout" is no option of a lock: it is called ttl here`],
  [() => lock({ Ttl: 5_000 }), `"Ttl" is no option of a lock: did you mean ttl?`],
  [() => lock({ fair: 1 }), "fair is true or false, not 1"],
  [() => lock({ maxRequests: 0 }), noCount("maxRequests", 1, "0")],
  [() => lock({ maxRequests: "3" }), noCount("maxRequests", 1, "a string")],
  [() => lock({ maxHold: "1m" }), noLimit("maxHold", 0, "a string")],
  [() => lock({ maxHold: 0.5 }), noLimit("maxHold", 0, "0.5; round it: 1")],
  [() => lock({ signal: new AbortController() }), "signal is an AbortSignal, not an object"],
  [() => lock({ signal: { aborted: false, addEventListener() {} } }), "signal is an AbortSignal, not an object"],
  [() => lock({ waitForReplicas: 2 }), "waitForReplicas is { count, within }"],
  [() => lock({ waitForReplicas: { count: 1, within: 10.5 } }), noTime("waitForReplicas.within", "10.5; round it: 11")],
  [() => offline().lock("a", 5 as never), "the options of a lock are an object, not 5"],
  [() => offline().reentrant("a", undefined as never).tryAcquire(), `an owner is a string, not ${UNSET}`],
  [() => offline().semaphore("a", 0), "permits are a whole number, 1 or more, not 0"],
  [() => offline({ quorum: [GOOD], url: undefined, credential: undefined }), "\"url\" is no option of a client: there are quorum, restartQuarantine, prefix, requestTimeout, maxAttempts, fenceLife, push, keyLocking, plainHttp, fetch, waitUntil, signal, onEvent"],
  [() => offline().throttle("a", 0), `the window of a throttle is 1 ms to 366 days, in whole milliseconds, not 0 ms ${A}`],
  [() => offline().throttle("a", undefined as never), noTime("window", UNSET)],
  [() => offline().debounce("a", "1s" as never), noTime("wait", "a string")],
  [() => offline().debounce("a", 500, { max: 900 } as never), `"max" is no option of a debounce: there are maxWait`],
];

const NO_COMMAND = `command 0 is no array that begins with its name, as ["GET", { key: "…" }]`;
const CALLS: readonly Use[] = [
  [() => exec(["SET", "stock", 1]), `word 1 of command 0 (SET) is a key: write it as { key: "…" } ${A}`],
  [() => exec(["GET", { key: 42 }]), "a key is a string; in word 1 of command 0 it is 42"],
  [() => offline().limits([{ name: "a", limit: 0 }]), "limit is a whole number, 1 to 4294967295, or Infinity for no limit, not 0"],
  [() => offline().limits([{ name: "a", limit: 1, permits: 2 }]).tryAcquire(), "a lease takes 1 to 1 permits, not 2 (for \"a\")"],
  [() => exec("SET stock 1"), NO_COMMAND],
  [() => exec(["SET", { key: "x" }, { stock: 1 }]), "a word of a command is a string, a finite number or { key: \"…\" }; word 2 of command 0 is an object"],
  [() => lease().exec("SET stock 1" as never), "commands are an array of arrays, as [[\"GET\", { key: \"…\" }]], not a string"],
  [() => offline().read([["GET", { key: "x" }]], { at: "a" } as never), `"at" is no option of a read: there are shardOf, signal`],
  [() => new Client({ shards: { a: GOOD } }).read([["GET", { key: "x" }]]), "there are several bridges to read from; name one by a lock behind it, with `shardOf`"],
  [() => lease().renew({ ttl: 1 }), noTtl("1")],
  [() => lease().keepAlive({ maxHold: 0.5 }), noLimit("maxHold", 0, "0.5; round it: 1")],
  [() => lease().keepAlive({ signal: 7 as never }), "signal is an AbortSignal, not 7"],
  [() => new GroupCommit(undefined as never), "a section is { reads, decide }"],
  [() => new GroupCommit({ reads: () => [] } as never), "decide is a function"],
  [() => new GroupCommit({ reads: () => [], decide: () => ({ answer: 7 }) }, { maxItems: 0 }), noCount("maxItems", 1, "0")],
  [() => new GroupCommit({ reads: () => [], decide: () => ({ answer: 7 }) }).submit({} as never, 7), "a group commit is submitted to with a lock"],
];

/** The error of a call that is answered by something other than a bridge. */
const answered = (status: number, body: string, headers: Record<string, string> = {}) => {
  const answer = async (): Promise<FetchResponse> => new Response(body, { status, headers });
  return new Client({ ...GOOD, fetch: answer, maxAttempts: 1 }).lock("a").tryAcquire();
};

const AT = `(for "a")`;
const ANSWERS: ReadonlyArray<readonly [use: () => unknown, told: string, advice: string]> = [
  [() => answered(200, "<html>It works!</html>"), `status 200 with a body that is not JSON; is the address that of a bridge? ${AT}`, "the address is that of a bridge"],
  [() => answered(404, "<html>404</html>"), `refused: the bridge answers with status 404 ${AT}`, "the address is that of a bridge"],
  [() => answered(401, `{"error":"Unauthorized"}`), `not authorized: the bridge says "Unauthorized" (status 401) ${AT}`, "Check the credential"],
  [() => answered(200, `{"hello":"world"}`), `an unexpected reply: neither a result nor an error ${AT}`, "the address is that of a bridge"],
  [() => answered(502, "Bad Gateway"), `unavailable: the bridge answers with status 502 ${AT}`, "the bridge and its Redis run"],
  [() => answered(503, `{"error":"NOAUTH Authentication required."}`), `unavailable: the bridge says "NOAUTH Authentication required." (status 503) ${AT}`, "password of its Redis"],
  [() => answered(429, `{"error":"too many requests"}`), `unavailable: the bridge says "too many requests" (status 429) ${AT}`, "Try again later"],
  [() => answered(200, ""), `the answer broke off ${AT}`, "Try again later"],
];

async function checkAll(uses: readonly Use[]): Promise<void> {
  for (const [use, told] of uses) {
    const error = await thrown(Promise.resolve().then(use));
    check(error instanceof EdgelockError, `${String(error)} of ${told}`);
    equal(error.message, `invalid argument: ${told}`);
    check(error.lock !== undefined || !told.includes(`(for "`), `it names a lock, and has none: ${told}`);
    check(!error.isOutcomeUnknown && !error.message.includes(GOOD.credential), "nothing was sent, and no secret told");
  }
}

export const misuse: Suite = {
  async a_client_that_cannot_be_made_says_why_and_what_to_write() {
    await checkAll(CLIENTS);
  },

  async an_environment_without_a_bridge_is_told_where_its_values_are() {
    for (const env of [{}, { EDGELOCK_BRIDGE_URL: GOOD.url }]) {
      const error = await thrown(Promise.resolve().then(() => Client.fromEnv(env)));
      check(error instanceof EdgelockError, String(error));
      for (const place of ["Upstash's console", "cargo xtask dev", "edgelock-bridge", "`env` of its handler", "--allow-env"]) {
        check(error.advice.includes(place), `${place}: ${error.advice}`);
      }
    }
  },

  async a_lock_that_cannot_be_asked_for_says_why_and_what_to_write() {
    await checkAll(LOCKS);
  },

  async a_call_that_cannot_be_made_says_why_and_what_to_write() {
    await checkAll(CALLS);
  },

  async what_is_no_bridge_is_told_with_what_to_look_at() {
    for (const [use, told, advice] of ANSWERS) {
      const error = await thrown(Promise.resolve().then(use));
      check(error instanceof EdgelockError, `${String(error)} of ${told}`);
      equal(error.message, told);
      check(error.advice.includes(advice), `${told}: ${error.advice}`);
    }
  },

  async a_lease_that_is_over_says_of_which_lock_and_what_to_do(stack) {
    const lock = stack.lock("a");
    const over = async (use: (lease: Lease) => unknown) => {
      const lease = await lock.acquire();
      const error = await thrown(Promise.resolve().then(() => use(lease)));
      check(error instanceof EdgelockError, String(error));
      return [error.message.replace(stack.mark, ""), error.advice];
    };
    const advice = "Stop, and undo what was not written through the lease: another may hold the lock.";
    equal(await over((lease) => lock.forceRelease().then(() => lease.renew())), [`the lease of lock "a" is lost: it ran out, was taken or forced, or Redis forgot it`, advice]);
    equal(await over((lease) => lease.release().then(() => lease.renew())), [`the lease of lock "a" was already released`, "Use a lease only until it is given back; acquire again."]);
    const twice = async (lease: Lease) => {
      const [first, second] = await Promise.allSettled([lease.exec([]), lease.exec([])]);
      equal(first.status, "fulfilled");
      await lease.release();
      throw (second as PromiseRejectedResult).reason;
    };
    const busy = [`another write of the lease of lock "a" is under way, or it is kept for other work`, "Await one write of a lease before the next, and keep it for one work at a time."];
    equal(await over(twice), busy);
    const kept = async (lease: Lease) => {
      const stop = lease.keepAlive();
      return lease.run(() => undefined).finally(() => (stop(), lease.release()));
    };
    equal(await over(kept), busy);
    equal(await over((lease) => lease.exec([["INCRBY", { key: `${stack.mark}n` }, "x"]]).finally(() => lease.release())), [
      `command 0, "INCRBY", failed under lock "a": ERR value is not an integer or out of range`,
      "Look at the command with this `index`; the others were executed.",
    ]);
  },
};
