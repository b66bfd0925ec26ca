// Runs suites on any host, and reports as Rust's tests do.
import { type AnyEdgelockError, Client, type ClientSettings, EdgelockError, type ErrorCode, type FetchInit, type FetchResponse, type Lease, type Lock } from "edgelock";

/** Tests by their names, which are promises. */
export type Suite = Readonly<Record<string, (stack: Stack) => void | Promise<void>>>;

/** The test with this name, and the others of its suite. */
export function apart(suite: Suite, name: string): readonly [one: Suite, others: Suite] {
  const { [name]: test, ...others } = suite;
  check(test !== undefined, `there is a test ${name}`);
  return [{ [name]: test }, others];
}

/** A test of each of these promises, whose name says what it is about, too. */
export function about<Promised>(what: string, promises: Readonly<Record<string, Promised>>, test: (promise: Promised, stack: Stack) => Promise<void>): Suite {
  return Object.fromEntries(Object.entries(promises).map(([name, promise]) => [`${what}_${name}`, (stack: Stack) => test(promise, stack)]));
}

/** The bridge of the tests. */
export interface Bridge {
  readonly url: string;
  readonly credential: string;
  /** If clients use webdis instead: the bridge is before the same Redis. */
  readonly webdis?: { readonly url: string; readonly user: string; readonly password: string };
}

const LIMIT_MS = 60_000;

/** How many tests run at once, of those that may: each waits for most of its time. */
const AT_ONCE = 24;

type Test = readonly [name: string, test: () => void | Promise<void>];

/** Whether all tests passed: those of `beside` at once, and then the others one by one. */
export function run(bridge: Bridge, suites: readonly Suite[], print: (line: string) => void, beside: readonly Suite[] = []): Promise<boolean> {
  const tests = (suite: Suite) => Object.entries(suite).map(([name, test]): Test => [name, () => test(new Stack(bridge))]);
  return runTests(suites.flatMap(tests), print, LIMIT_MS, beside.flatMap(tests));
}

/** Runs tests one after another, after those that run at once. Returns whether all passed. */
export async function runTests(
  tests: readonly Test[],
  print: (line: string) => void,
  limitMs = LIMIT_MS,
  beside: readonly Test[] = [],
): Promise<boolean> {
  let failed = 0;
  const runOne = async ([name, test]: Test): Promise<void> => {
    try {
      await within(limitMs, test());
      print(`test ${name} ... ok`);
    } catch (error) {
      failed++;
      print(`test ${name} ... FAILED`);
      print(error instanceof Error ? `${error.stack}` : `thrown: ${String(error)}`);
    }
  };
  const next = beside.values();
  const lane = async () => {
    for (const test of next) await runOne(test);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  for (const test of tests) await runOne(test);
  const passed = beside.length + tests.length - failed;
  print(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed; 0 ignored`);
  return failed === 0;
}

/** Clients of the real bridge, and Redis past it, which all tests share. */
export class Stack {
  readonly bridge: Bridge;
  /** What every name of this test begins with. */
  readonly mark = `${crypto.randomUUID().slice(0, 8)}:`;

  constructor(bridge: Bridge) {
    this.bridge = bridge;
  }

  client(settings: ClientSettings = {}): Client {
    const { credential } = this.bridge;
    const { url, ...webdis } = this.bridge.webdis ?? this.bridge;
    const bridge = "user" in webdis ? { url, webdis } : { url, credential };
    return new Client({ ...bridge, prefix: this.mark, ...settings });
  }

  lock(...args: Parameters<Client["lock"]>): ReturnType<Client["lock"]> {
    return this.client().lock(...args);
  }

  /** What Redis itself answers. Words that begin with `~` are names of this test. */
  async redis(command: string): Promise<unknown> {
    return this.ask(command.split(" "));
  }

  /** Stores a text, which may have blanks. */
  async store(key: string, text: string): Promise<void> {
    await this.ask(["SET", key, text]);
  }

  private async ask(command: readonly string[]): Promise<unknown> {
    const words = command.map((word) => word.replace("~", this.mark));
    const headers = { authorization: `Bearer ${this.bridge.credential}` };
    const response = await fetch(this.bridge.url, { method: "POST", headers, body: JSON.stringify(words) });
    const { result, error } = (await response.json()) as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(`${command.join(" ")}: ${error}`);
    return result;
  }

  /** The last fence that was issued for the lock `name`, as docs/protocol.md has it. */
  async lastFence(name: string): Promise<number> {
    return Number(String(await this.redis(`GET {~${name}}:fence`)).split(" ")[1]);
  }

  /** How many stand in the queue for the lock `name`, dead or alive. */
  async waitersFor(name: string): Promise<number> {
    const record = String((await this.redis(`GET {~${name}}:fence`)) ?? ",");
    return record.split(",").length - 2 + Number(await this.redis(`ZCARD {~${name}}:queue`)) / 2;
  }
}

/** What a host is to let finish, for as long as it goes on. */
export class Background {
  readonly underWay = new Set<Promise<unknown>>();

  readonly waitUntil = (promise: Promise<unknown>): void => {
    this.underWay.add(promise);
    void promise.finally(() => this.underWay.delete(promise));
  };

  /** Waits until nothing goes on. */
  async over(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }
}

/** What happens to one request. */
export type Fate = "pass" | "lose the request" | "lose the answer" | "withhold the answer" | "hang" | "turn away";

/** A network between client and bridge that does what it is told, and keeps the requests. */
export class Network {
  readonly #seen: string[][] = [];
  readonly #fates: Fate[];

  constructor(...fates: Fate[]) {
    this.#fates = fates;
  }

  /** Inherited, so that a spread of this network into settings does not have it. */
  get seen(): readonly string[][] {
    return this.#seen;
  }

  readonly fetch = async (url: string, init: FetchInit): Promise<FetchResponse> => {
    const words = toWords(init.body);
    if (words === undefined || words[0] === "SUBSCRIBE") return fetch(url, init);
    this.#seen.push(words);
    const fate = this.#fates.shift() ?? "pass";
    if (fate === "lose the request") throw new TypeError("lost");
    const aborted = () => new Promise<never>((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
    if (fate === "hang") return aborted();
    if (fate === "turn away") return new Response(`{"error":"Unauthorized"}`, { status: 401 });
    const response = await fetch(url, init);
    if (fate === "pass") return response;
    await response.text();
    if (fate === "withhold the answer") return aborted();
    throw new TypeError("lost");
  };
}

/** The words of a command in either dialect. */
const toWords = (body: string | undefined): string[] | undefined => (body?.startsWith("[") ? (JSON.parse(body) as string[]) : body?.split("/").map(decodeURIComponent));

/** Acquires a lock that is free. */
export async function take(lock: Lock): Promise<Lease> {
  const lease = await lock.tryAcquire();
  check(lease !== null, "the lock is free");
  return lease;
}

export async function releaseAll(...leases: readonly Lease[]): Promise<void> {
  for (const lease of leases) await lease.release();
}

/** What is known of the errors with this code. */
type OfCode<C, E = AnyEdgelockError> = E extends { readonly code: infer K } ? (C extends K ? E : never) : never;

/** The error of `promise`, which must be one of ours with that code. */
export async function fails<C extends ErrorCode>(code: C, promise: Promise<unknown> | (() => unknown)): Promise<OfCode<C>> {
  const error = await thrown(promise);
  if (!(error instanceof EdgelockError) || error.code !== code) throw new Error(`not ${code}: ${error}`, { cause: error });
  check(error.advice.length > 0 && error.message.length > 0, "it says what to do");
  return error as OfCode<C>;
}

export async function thrown(promise: Promise<unknown> | (() => unknown)): Promise<unknown> {
  try {
    await (typeof promise === "function" ? promise() : promise);
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

/** What was rejected during `work` without being handled. */
export async function unhandled(work: () => Promise<void>): Promise<string[]> {
  const reasons: string[] = [];
  const hear = (reason: unknown) => void reasons.push(String(reason instanceof Error ? reason.stack : reason));
  const hearEvent = (event: Event) => (event.preventDefault(), hear((event as PromiseRejectionEvent).reason));
  const { process } = globalThis as { process?: Partial<Record<"on" | "off", (event: string, listener: unknown) => void>> };
  process?.on?.("unhandledRejection", hear);
  globalThis.addEventListener?.("unhandledrejection", hearEvent);
  try {
    await work();
    // Hosts report it once the microtasks are done.
    await sleep(5);
  } finally {
    process?.off?.("unhandledRejection", hear);
    globalThis.removeEventListener?.("unhandledrejection", hearEvent);
  }
  return reasons;
}

/** Work that counts how often it was done, and returns that count. */
export class Work {
  count = 0;
  readonly done = async (): Promise<number> => ++this.count;
}

/** Work that must not be done. */
export const never = (): never => {
  throw new Error("the work is done");
};

/** Lets the drivers of turns that `drive` starts show no sign of life. */
export function withoutBeats<T>(drive: () => T): T {
  const { setInterval } = globalThis;
  globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
  try {
    return drive();
  } finally {
    globalThis.setInterval = setInterval;
  }
}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`does not hold: ${what}`);
}

export function equal(actual: unknown, expected: unknown): void {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(value, plain));
  if (left !== right) throw new Error(`${left} is not ${right}`);
}

function plain(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { bytes: [...value] } : typeof value === "bigint" ? `${value}n` : value === undefined ? "undefined" : value;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until that holds. The limit is that of the test. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}

async function within(ms: number, work: void | Promise<void>): Promise<void> {
  let timer;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms)));
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
