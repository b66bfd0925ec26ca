// A Worker for callers that hang up. `POST /` says which call to make, and where; the work of a
// call is a request to the gate of the test. `GET /` answers at once.
import { Client, type Command, GroupCommit, idempotent, type Lease, type Reply } from "edgelock";

/** What the test sends. */
export interface Asked {
  readonly url: string;
  readonly credential: string;
  readonly prefix: string;
  readonly verb: string;
  /** Of a lease that somebody else handed over. */
  readonly token: string;
}

/** What a call is made with. */
interface Call {
  readonly client: Client;
  readonly token: string;
  readonly request: Request;
  /** What a call does besides, and which takes its time. */
  readonly work: () => Promise<unknown>;
  /** Counts how often it was done. */
  readonly count: Command;
  /** The same, by a request of its own. */
  readonly charge: () => Promise<unknown>;
}

const LONG = { ttl: 600_000, wait: 30_000 };

const shared = new GroupCommit({
  reads: (count: Command) => [["GET", count[1]!]],
  decide: (count, _: readonly Reply[]) => ({ answer: 7, writes: [count] }),
});

/** The work, and then a write, under a lease. */
const under = ({ work, count }: Call) => async (lease: Lease) => {
  await work();
  await lease.exec([count]);
};

export const verbs: Readonly<Record<string, (call: Call) => Promise<unknown>>> = {
  run: (call) => call.client.lock("a", LONG).run(under(call)),

  async acquire_and_release(call) {
    const lease = await call.client.lock("a", LONG).acquire();
    try {
      await under(call)(lease);
    } finally {
      await lease.release();
    }
  },

  async try_acquire_in_a_block(call) {
    await using lease = await call.client.lock("a", LONG).tryAcquire();
    if (lease) await under(call)(lease);
  },

  async acquire_and_read_and_commit({ client, work, count }) {
    const [lease] = await client.lock("a", LONG).acquireAndRead([["GET", count[1]!]]);
    await work();
    await lease.commit([count]);
  },

  async a_commit_that_nobody_waits_for({ client, count }) {
    const lease = await client.lock("a", LONG).acquire();
    void lease.commit([count]);
  },

  async keep_alive(call) {
    const lease = await call.client.lock("a", LONG).acquire();
    {
      using _kept = lease.keepAlive();
      await under(call)(lease);
    }
    await lease.release();
  },

  async resume({ client, work, count, token }) {
    const lease = client.lock("a", LONG).resume(token);
    await lease.renew();
    await work();
    await lease.commit([count]);
  },

  /** Of which `a` stays held. */
  async hand_over(call) {
    const lease = await call.client.lock("a", LONG).acquire();
    lease.handOver();
    await call.client.lock("b", LONG).run(under(call));
  },

  // What goes on may take locks with the client of the caller that is gone.
  once: ({ client, charge, work }) => client.once("a", LONG).run(async () => (await charge(), await client.lock("b", LONG).run(work))),

  idempotent({ client, charge, work, request }) {
    const pay = async () => (await charge(), await client.lock("b", LONG).run(work), new Response("paid"));
    return idempotent(pay, { client, key: () => "a", ...LONG })(request);
  },

  shared_turn: ({ client, count }) => shared.submit(client.lock("a", LONG), count),
  semaphore: (call) => call.client.semaphore("a", 1, LONG).run(under(call)),
  reentrant: (call) => call.client.reentrant("a", "me", LONG).run(under(call)),
  read: (call) => call.client.readWrite("a").read(LONG).run(under(call)),
  write: (call) => call.client.readWrite("a").write(LONG).run(under(call)),
  lock_all: (call) => call.client.lockAll(["a", "b"], LONG).run(under(call)),
  debounce: ({ client, work, charge }) => client.debounce("a", 20).run(() => client.lock("b", LONG).run(async () => (await work(), await charge()))),
  throttle: ({ client }) => client.throttle("a", 1).tryPass(),
};

export default {
  async fetch(request: Request, _env: unknown, context: { waitUntil(promise: Promise<unknown>): void }): Promise<Response> {
    if (request.method === "GET") return new Response("here");
    const { url, credential, prefix, verb, token } = (await request.json()) as Asked;
    const client = new Client({ url, credential, prefix, requestTimeout: 5_000, waitUntil: (promise) => context.waitUntil(promise), signal: request.signal });
    const count: Command = ["INCR", { key: `${prefix}done` }];
    const post = (path: string, body?: string) => fetch(`${url}/${path}`, { method: "POST", headers: { authorization: `Bearer ${credential}` }, ...(body === undefined ? {} : { body }) });
    const work = async () => (await post("work")).text();
    const charge = async () => (await post("", `["INCR","${prefix}done"]`)).text();
    const told = await verbs[verb]!({ client, token, request, work, count, charge });
    return told instanceof Response ? told : Response.json(told ?? null);
  },
};
