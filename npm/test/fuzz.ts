// Whatever a caller passes, and whatever a bridge answers, the error is one of ours and tells no
// secret. The wasm never traps.
import fc from "fast-check";
import { Client, type ClientOptions, type Command, EdgelockError, type FetchResponse, type Lease, type Lock, type LockOptions } from "edgelock";
import { check, run, type Suite } from "./harness.js";

const { EDGELOCK_FUZZ_INPUTS: inputs = "2000", EDGELOCK_FUZZ_SEED: seed, EDGELOCK_FUZZ_PATH: path } = process.env;
const REPEATED = seed === undefined ? {} : { seed: Number(seed), ...(path === undefined ? {} : { path }) };
const HOW = { numRuns: Number(inputs), ...REPEATED };

const CREDENTIAL = "Sesame-open-7f3a";
const TOKEN = "BwcHBwcHBwcHBwcHBwcHBw";
const GOOD = { url: "https://bridge.example", credential: CREDENTIAL };

/** A bridge that says that it executed nothing, so nothing is left to do after it. */
const closed = (): Promise<FetchResponse> => Promise.resolve(new Response(`{"error":"no"}`, { status: 401 }));

/** What somebody could pass by mistake: numbers at bounds, a secret in the wrong place. */
const valueWith = (secret: string) => fc.oneof(
  fc.constantFrom<unknown>(0, -0, 1, 3, 4, 10.5, 2 ** 31, 2 ** 53, -1, NaN, Infinity, true, "", "a", "10s", secret, [secret], { url: secret }, null, undefined, () => 7, GOOD, [GOOD], { count: 1, within: 100 }, { user: "u", password: secret }, "\ud800", 1n, Symbol.iterator),
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true }),
  fc.double(),
  fc.string({ unit: "binary" }),
);
const value = valueWith(CREDENTIAL);

const bag = (...names: string[]) => fc.dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.string()), value, { maxKeys: 4 });
const ofClient = bag("url", "credential", "webdis", "quorum", "shards", "restartQuarantine", "requestTimeout", "maxAttempts", "fenceLife", "push", "keyLocking", "plainHttp", "onEvent", "waitUntil", "signal");
const ofLock = bag("ttl", "fair", "maxRequests", "maxHold", "signalList", "label", "waitForReplicas", "signal", "wait", "takeOver", "listen");
// Names are no secrets: errors show them.
const name = fc.oneof(fc.constantFrom("a", "sku:42", "a:{1}", "{a}", "a}", "{7}:fence"), fc.string({ unit: "binary" }), valueWith("a name"));

/** Checks that `use` works, or fails with an error of ours without a secret. */
async function holds(use: () => unknown): Promise<void> {
  try {
    await use();
  } catch (error) {
    check(error instanceof EdgelockError && error.code !== "internal", `one of ours, not ${String(error)}`);
    const told = [error.message, error.advice, error.stack, JSON.stringify(error)].join();
    check(!told.includes(CREDENTIAL), told);
  }
}

const client = (options: object = {}) => new Client({ ...GOOD, fetch: closed, ...options } as ClientOptions);

/** Each kind of lock, and everything else that a client makes. */
const MADE: readonly ((client: Client, name: never, other: never, options: never) => unknown)[] = [
  (client, name, _, options) => client.lock(name, options).tryAcquire(),
  (client, name, other, options) => client.reentrant(name, other, options).tryAcquire(),
  (client, name, other, options) => client.semaphore(name, other, options).tryAcquire(),
  (client, name, _, options) => client.readWrite(name).read(options).tryAcquire(),
  (client, name, other, options) => client.lockAll([name, other], options).tryAcquire(),
  (client, name, _, options) => client.lockAll(name, options).tryAcquire(),
  (client, name, other, options) => client.limits([{ name, limit: other, permits: other }], options).tryAcquire(),
  (client, name, _, options) => client.limits(name, options).tryAcquire(),
  (client, name, _, options) => client.once(name, options).run(() => 1),
  (client, name, other) => client.throttle(name, other).tryPass(),
  (client, name, other, options) => client.debounce(name, other, options).run(() => 1),
  (client, name, _, options) => client.read(name, options),
  (client, name, other, options) => client.reservations(name, other, options).tryAcquire(),
  (_, name) => new Client(name),
  (_, name) => Client.fromEnv(name).lock("a").tryAcquire(),
  (_, name) => Client.fromEnv({ EDGELOCK_BRIDGE_URL: name }),
];

const CALLS: readonly ((lock: Lock, lease: Lease, value: never) => unknown)[] = [
  (lock, _, value) => lock.resume(value),
  (lock, _, value) => lock.tryAcquire(value),
  (lock, _, value) => lock.tryAcquireAndRead(value),
  (lock, _, value) => lock.run(value),
  (lock, _, value) => lock.inspect(value),
  (_, lease, value) => lease.renew(value),
  (_, lease, value) => lease.exec(value),
  (_, lease, value) => lease.exec([value]),
  (_, lease, value) => lease.commit([["SET", value, value]] as Command[]),
  (_, lease, value) => lease.commit([["SET", { key: value }, "1"]]),
  (_, lease, value) => lease.run(() => 1, value),
  (_, lease, value) => lease.run(() => 1, { signal: value }),
  (_, lease, value) => lease.keepAlive(value)(),
  (_, lease, value) => lease.keepAlive({ maxHold: value })(),
  (lock, _, value) => lock.acquire(value),
  (lock, _, value) => lock.acquireAndRead([], { signal: value }),
];

const answer = fc.oneof(
  fc.constantFrom("", "{}", "[]", `{"result":[1,"x",7,""]}`, `{"error":"${CREDENTIAL} ${TOKEN}"}`, `{"result":[0,"NONCE",5,0,1,"of%20${CREDENTIAL}"]}`, `{"result":[1,"NONCE",7,"*9999999\\r\\n"]}`),
  fc.json().map((json) => `{"result":${json}}`),
  fc.array(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double(), fc.string({ unit: "binary" }), fc.constant(null)), { maxLength: 7 }).map((rest) => JSON.stringify({ result: [1, "NONCE", ...rest] })),
  fc.string({ unit: "binary" }),
);

/** A bridge that echoes what it is asked. */
function answering(status: number, text: string, header: string | null): (url: string, init: { readonly body?: string }) => Promise<FetchResponse> {
  return async (_, { body = "[]" }) => {
    const words = JSON.parse(body) as string[];
    const said = text.replaceAll("NONCE", words[3 + Number(words[2])] ?? "");
    return { status, headers: { get: () => header }, body: null, text: async () => said } as FetchResponse;
  };
}

const fuzz: Suite = {
  async a_client_of_whatever_options_is_refused_or_made() {
    await fc.assert(fc.asyncProperty(ofClient, (options) => holds(() => client(options).lock("a").tryAcquire())), HOW);
  },

  async a_lock_of_whatever_name_and_options_is_refused_or_asked_for() {
    const property = fc.asyncProperty(fc.constantFrom(...MADE), name, name, ofLock, (make, name, other, options) => holds(() => make(client(), name as never, other as never, options as never)));
    await fc.assert(property, HOW);
  },

  async a_call_with_whatever_arguments_is_refused_or_sent() {
    const property = fc.asyncProperty(fc.constantFrom(...CALLS), value, (call, value) => {
      const lock = client().lock("a");
      return holds(() => call(lock, lock.resume(TOKEN), value as never));
    });
    await fc.assert(property, HOW);
  },

  async whatever_a_bridge_answers_is_an_outcome_or_an_error() {
    const status = fc.oneof(fc.constantFrom(200, 200, 200, 400, 401, 429, 500, 503, 0, 301), fc.integer({ min: 0, max: 999 }));
    const header = fc.oneof(fc.constant(null), fc.constantFrom("1", "push", "-1", "99999999999999999999"), fc.string());
    const property = fc.asyncProperty(status, answer, header, fc.integer({ min: 0, max: 4 }), (status, text, header, which) => {
      const lock = client({ fetch: answering(status, text, header), maxAttempts: 1 } as LockOptions).lock("a");
      const lease = lock.resume(TOKEN);
      const calls = [() => lock.tryAcquire(), () => lock.inspect(), () => lease.renew(), () => lease.commit([["GET", { key: "a" }]]), () => lock.forceRelease()];
      return holds(calls[which] ?? lock.tryAcquire);
    });
    await fc.assert(property, HOW);
  },
};

run({ url: "", credential: "" }, [fuzz], console.log).then((passed) => process.exit(passed ? 0 : 1));
