// Callers that hang up on a Worker, in workerd: each call, at each of its requests, by a reset and
// by a closed connection, with the compatibility flag `enable_request_signal` and without.
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { Between } from "./between.js";
import { check, equal, eventually, runTests, sleep, Stack, take } from "./harness.js";
import { type Asked, verbs } from "./hangups_worker.js";
import { post, serve } from "./serve.js";

const [, , workerd = "", folder = ""] = process.argv;
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const hosts = {
  "with the flag": (await serve(workerd, folder)).worker,
  "without it": (await serve(workerd, folder, "no-signal.capnp")).worker,
};
type Host = keyof typeof hosts;

/** How a caller hangs up. Of a connection that is merely closed workerd takes no notice. */
const ways = {
  reset: ({ socket }: ClientRequest) => void socket?.resetAndDestroy(),
  closed: ({ socket }: ClientRequest) => void socket?.destroy(),
};
type Way = keyof typeof ways;

/** Where a call's request is held up: before it arrives, or its answer on the way back. */
const SIDES = ["before", "behind"] as const;
type Side = (typeof SIDES)[number];

/** Stands before the bridge, holds one request up, and answers those that are a call's work. */
class Gate {
  readonly seen: string[] = [];
  readonly #at: number;
  readonly #side: Side;
  readonly #opened: Promise<void>;
  readonly server = new Between(url, (...args) => this.#meddle(...args));
  #underWay = 0;
  /** The request has come to where it is held up. */
  isReached = false;
  open = (): void => {};

  constructor(at = Infinity, side: Side = "before") {
    this.#at = at;
    this.#side = side;
    this.#opened = new Promise((open) => (this.open = open));
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  #meddle(request: IncomingMessage, response: ServerResponse) {
    const [, path = ""] = request.url?.split("/") ?? [];
    const number = this.seen.push(path || "command") - 1;
    this.#underWay++;
    const hold = async (side: Side) => {
      if (number !== this.#at || side !== this.#side) return;
      this.isReached = true;
      await this.#opened;
    };
    const before = async () => {
      await hold("before");
      if (path === "work") response.end("7");
      return path === "work";
    };
    return { before, behind: () => hold("behind").then(() => false), over: () => this.#underWay-- };
  }
}

/** One call of a Worker, on names of its own. */
class Call {
  readonly stack = new Stack({ url, credential });
  readonly gate: Gate;
  readonly #host: Host;
  readonly #verb: string;
  #url = "";
  #sent: ClientRequest | undefined;

  constructor(host: Host, verb: string, gate = new Gate()) {
    this.#host = host;
    this.#verb = verb;
    this.gate = gate;
  }

  /** Makes it. Returns its answer. */
  async make(): Promise<string> {
    const token = this.#verb === "resume" ? (await take(this.stack.lock("a", LONG))).handOver() : "";
    this.#url = await this.gate.server.listen();
    return this.again(token);
  }

  again(token = ""): Promise<string> {
    const asked: Asked = { url: this.#url, credential, prefix: this.stack.mark, verb: this.#verb, token };
    const { sent, text } = post(hosts[this.#host], asked);
    this.#sent = sent;
    return text;
  }

  async hangUp(way: Way): Promise<void> {
    ways[way](this.#sent!);
    // workerd reports what happened before these requests before it answers them.
    for (let requests = 0; requests < 5; requests++) await (await fetch(hosts[this.#host])).text();
  }

  /** The names of what is in Redis, without tokens. */
  async left(): Promise<string[]> {
    const [, keys] = (await this.stack.redis("SCAN 0 MATCH *~* COUNT 100000")) as [string, string[]];
    return keys.map((key) => key.replaceAll(this.stack.mark, "").replace(/[^:]{16,}$/, "TOKEN"));
  }

  async done(): Promise<number> {
    return Number(await this.stack.redis("GET ~done"));
  }

  /** Waits until all is over that it has under way, and nothing is in Redis but `leaves`. */
  async isOver(isDone: () => Promise<boolean>, leaves: readonly string[]): Promise<void> {
    for (const giveUp = performance.now() + SOON; ; await sleep(20)) {
      const left = (await this.left()).filter((key) => !leaves.includes(key));
      if (left.length === 0 && (await isDone())) return;
      if (performance.now() > giveUp) throw new Error(`done ${await this.done()} times, left ${left}, sent ${this.gate.seen}`);
    }
  }
}

const LONG = { ttl: 600_000 };
/** Longer than a request may take, and much shorter than the ttl. */
const SOON = 15_000;
/** These go on with what they began: a repeat is to get its result, or nobody else does it. */
const GO_ON = new Set(["once", "idempotent", "debounce"]);

/** What a call sends, and what it leaves in Redis, if nobody hangs up. */
async function undisturbed(verb: string): Promise<{ readonly seen: readonly string[]; readonly leaves: readonly string[] }> {
  const call = new Call("without it", verb);
  await call.make();
  await eventually(async () => call.gate.isIdle && (await call.done()) === timesOf(verb));
  call.gate.server.close();
  // Redis remembers for a while that a token was given up.
  return { seen: call.gate.seen, leaves: [...(await call.left()), "{a}:gone:TOKEN", "{b}:gone:TOKEN"] };
}

const timesOf = (verb: string) => (verb === "throttle" ? 0 : 1);

/** The caller hangs up while that request is held up. */
async function hangUp(host: Host, way: Way, verb: string, at: number, side: Side, leaves: readonly string[]): Promise<void> {
  const gate = new Gate(at, side);
  const call = new Call(host, verb, gate);
  call.make().catch(() => {});
  await eventually(() => gate.isReached);
  await call.hangUp(way);
  const isKnown = host === "with the flag" && way === "reset";
  // Where the hang-up is known, the lock does not wait for work that does not end.
  const endless = isKnown && gate.seen[at] === "work" && !GO_ON.has(verb);
  if (!endless) gate.open();
  // Where it is not, nobody tells the work, so it is done.
  const isDone = async () => (isKnown && verb !== "debounce") || (await call.done()) === timesOf(verb);
  await call.isOver(async () => (endless || gate.isIdle) && (await isDone()), leaves);
  gate.open();
  if (verb === "hand_over" && at > 0) check((await call.left()).includes("a"), "what was handed over is held");
  if (verb === "once") {
    const replayed = (await call.done()) === 1;
    equal(JSON.parse(await call.again()), { value: "7", replayed });
  }
  if (verb === "idempotent") equal(await call.again(), "paid");
  check((await call.done()) <= 1, "nothing is done twice");
  gate.server.close();
}

async function hangUpAtEachRequest(host: Host, way: Way, verb: string): Promise<void> {
  const { seen, leaves } = await undisturbed(verb);
  check(seen.length > 0, "it sends something");
  const cases = seen.flatMap((what, at) => SIDES.filter((side) => what !== "work" || side === "before").map((side) => ({ what, at, side })));
  const tried = cases.map(({ what, at, side }) => hangUp(host, way, verb, at, side, leaves).catch((error) => `${side} request ${at}, a ${what}: ${error}`));
  const failed = (await Promise.all(tried)).filter((failure) => failure !== undefined);
  if (failed.length > 0) throw new Error(failed.join("\n"));
}

/** A waiter whose caller is gone leaves, or else has its turn. */
async function hangUpInTheQueue(host: Host, way: Way): Promise<void> {
  const call = new Call(host, "run");
  const lock = call.stack.lock("a", LONG);
  const lease = await take(lock);
  call.make().catch(() => {});
  await eventually(async () => (await lock.inspect()).waiters === 1);
  await call.hangUp(way);
  const isKnown = host === "with the flag" && way === "reset";
  if (isKnown) await eventually(async () => (await lock.inspect()).waiters === 0);
  await lease.release();
  const { leaves } = await undisturbed("run");
  const times = isKnown ? 0 : 1;
  await call.isOver(async () => call.gate.isIdle && (await call.done()) === times, leaves);
  call.gate.server.close();
}

const tests = (Object.keys(hosts) as Host[]).flatMap((host) =>
  (Object.keys(ways) as Way[]).flatMap((way) => [
    [`a_waiter_whose_caller_hangs_up_leaves_or_has_its_turn (${way}, ${host})`, () => hangUpInTheQueue(host, way)] as const,
    ...Object.keys(verbs).map((verb) => [`nothing_stays_held_whose_caller_hangs_up: ${verb} (${way}, ${host})`, () => hangUpAtEachRequest(host, way, verb)] as const),
  ]),
);
runTests([], console.log, 60_000, tests).then((passed) => process.exit(passed ? 0 : 1));
