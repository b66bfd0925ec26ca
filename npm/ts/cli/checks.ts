// What `doctor` looks at, in order: each check needs those before it. The bridge that it looks at:
// its client, and what its answers say beside what was asked.
import { type Client, CommandFailedError, EdgelockError, type FetchInit, type FetchResponse, type Lease, type Reply } from "edgelock";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type BridgeArguments, connect } from "./bridge.js";

/** What came of a check. */
export interface Finding {
  readonly ok: boolean;
  readonly found: string;
  readonly advice?: string | undefined;
  /** Nothing behind it can be checked. */
  readonly isFatal?: boolean;
}

export type Check = (patient: Patient) => Finding | Promise<Finding>;

export const CHECKS: Readonly<Record<string, Check>> = {
  settings: areSet,
  bridge: answers,
  "round trip": isNear,
  clock: isRight,
  lock: locks,
  memory: keeps,
  waiters: wait,
};

const ROUNDS = 5;
/** Beyond it a hold of the default ttl has hardly time for its renewals. */
const FAR_MS = 1_000;
const WRONG_MS = 5_000;
const TTL_MS = 10_000;

function areSet(patient: Patient): Finding {
  patient.connect();
  return { ok: true, found: "an address and a credential" };
}

async function answers(patient: Patient): Promise<Finding> {
  await patient.connect().client.read([["TIME"]]);
  return { ok: true, found: `${new URL(patient.address).host} answers (${patient.kind})` };
}

async function isNear(patient: Patient): Promise<Finding> {
  const { client } = patient.connect();
  const times: number[] = [];
  // The first one opens the connection.
  await client.read([["TIME"]]);
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now();
    await client.read([["TIME"]]);
    times.push(performance.now() - begin);
  }
  times.sort((one, other) => one - other);
  const median = times[times.length >> 1] ?? 0;
  const found = `${median.toFixed(1)} ms, the median of ${ROUNDS}; ${(times.at(-1) ?? 0).toFixed(1)} ms at most`;
  return { ok: median < FAR_MS, found, advice: "Run the bridge nearer, or use a ttl of ten round trips at least." };
}

/** Redis' clock against the middle of the request. */
async function isRight(patient: Patient): Promise<Finding> {
  const { client } = patient.connect();
  const [before, begin] = [Date.now(), performance.now()];
  const [time] = await client.read([["TIME"]]);
  const took = performance.now() - begin;
  const off = Math.round(before + took / 2 - milliseconds(time));
  const found = Math.abs(off) <= took ? "as Redis' own, to within a round trip" : `${Math.abs(off)} ms ${off > 0 ? "ahead of" : "behind"} Redis' own`;
  return { ok: Math.abs(off) - took < WRONG_MS, found, advice: "Leases do not depend on it, but logs and `expiresAt` do: have the clock set by NTP, here and where Redis runs." };
}

/** What `TIME` replies: seconds, and microseconds of the next one. */
function milliseconds(time: Reply | undefined): number {
  const [seconds, microseconds] = Array.isArray(time) ? time.map(Number) : [];
  return (seconds ?? NaN) * 1_000 + (microseconds ?? NaN) / 1_000;
}

const ownName = (): string => `edgelock-doctor:${randomUUID()}`;

async function locks(patient: Patient): Promise<Finding> {
  const lock = patient.connect().client.lock(ownName(), { ttl: TTL_MS });
  const lease = await lock.acquire();
  await lease.renew();
  await lease.release();
  return { ok: true, found: "taken, renewed and given back" };
}

/** A Redis that runs out of memory must not forget locks and receipts. */
async function keeps(patient: Patient): Promise<Finding> {
  const lease = await patient.connect().client.lock(ownName(), { ttl: TTL_MS }).acquire();
  const [info] = await lease.commit([["INFO", "memory"]]).catch((error: unknown) => {
    if (!(error instanceof CommandFailedError)) throw error;
    return [];
  });
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1];
  if (policy === undefined) return { ok: true, found: "Redis does not say whether it evicts keys" };
  if (policy === "noeviction") return { ok: true, found: `Redis evicts no keys (${policy})` };
  const advice = "Have it refuse writes instead (`maxmemory-policy noeviction`): a lock that is evicted is held by two, and a write whose receipt is evicted may run twice.";
  return { ok: false, found: `Redis evicts keys when its memory is full (${policy})`, advice };
}

async function wait(patient: Patient): Promise<Finding> {
  const [holding, waiting] = [patient.connect(), patient.connect()];
  const name = ownName();
  const held = await holding.client.lock(name, { ttl: TTL_MS }).acquire();
  const taking = waiting.client.lock(name, { ttl: TTL_MS, wait: TTL_MS }).acquire();
  const [lease, finding] = await Promise.all([taking, handedOver(held, taking, waiting)]);
  await lease.release();
  return finding;
}

/** Gives the lock back once the waiter has asked twice: it listens by then if it ever does. */
async function handedOver(held: Lease, taking: Promise<Lease>, waiting: Connection): Promise<Finding> {
  const settled = taking.then(() => {}, () => {});
  while (waiting.answered < 2 && held.remaining > TTL_MS / 2) await Promise.race([sleep(5), settled]);
  const asked = waiting.answered;
  const begin = performance.now();
  await held.release();
  await settled;
  const found = `the lock was there ${Math.round(performance.now() - begin)} ms after its release`;
  if (waiting.listening === 0) return { ok: true, found: `they poll; ${found}` };
  const advice = "Something between here and the bridge buffers the stream: turn that off for /subscribe/, or give clients `push: false`.";
  const ok = waiting.answered === asked;
  return { ok, found: ok ? `they listen; ${found}` : `they listen, and hear nothing; ${found}`, advice };
}

/** One way to the bridge, which counts what is sent on it. */
export interface Connection {
  readonly client: Client;
  /** How many requests were answered, but for those that listen. */
  answered: number;
  /** How many requests to listen were granted. */
  listening: number;
}

export class Patient {
  /** The address that the last request went to. */
  address = "";
  #last: FetchResponse | undefined;

  /** The prefix is what the names begin with that may be locked there. */
  constructor(private readonly where: BridgeArguments & { readonly prefix?: string | undefined }) {}

  connect(): Connection {
    const look = async (url: string, init: FetchInit): Promise<FetchResponse> => {
      const listens = init.body === undefined || init.body.startsWith("SUBSCRIBE/");
      const response = await fetch(url, init);
      if (!listens) [this.address, this.#last] = [url, response];
      if (!listens) connection.answered++;
      else if (response.status === 200) connection.listening++;
      return response;
    };
    const connection = { client: connect(this.where, { fetch: look, prefix: this.where.prefix ?? "" }), answered: 0, listening: 0 };
    return connection;
  }

  /** What it is, as far as it says so. */
  get kind(): string {
    if (this.where.webdis !== undefined) return "webdis's dialect";
    if (new URL(this.address).hostname.endsWith(".upstash.io")) return "Upstash";
    const says = this.#last?.headers.get("x-edgelock-bridge");
    return says ? `Upstash's dialect, says that it supports: ${says}` : "Upstash's dialect";
  }

  /** What to do about an error, by all that is known. */
  advice(error: Error): string | undefined {
    const isOtherDialect = this.where.webdis === undefined && /^webdis/i.test(this.#last?.headers.get("server") ?? "");
    if (isOtherDialect) return "It is a webdis: give its user by --webdis, and the password as EDGELOCK_BRIDGE_CREDENTIAL.";
    return error instanceof EdgelockError ? error.advice : undefined;
  }
}
