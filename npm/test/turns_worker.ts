// A Worker whose requests share turns. `POST /<order>` says where the bridge is, and `GET /` says
// how many have come.
import { Client, EdgelockError, GroupCommit, type Reply } from "edgelock";

/** What the test sends with each order. */
export interface Asked {
  readonly url: string;
  readonly credential: string;
  readonly prefix: string;
  /** Whether a turn may go on after its request is gone. */
  readonly background: boolean;
  /** Whether an order is withdrawn when its caller hangs up before its turn begins. */
  readonly heeds: boolean;
}

export type Told = { readonly left: number; readonly fence: number } | { readonly code: string; readonly isOutcomeUnknown: boolean };

interface Order {
  readonly order: string;
  readonly prefix: string;
}

const sales = new GroupCommit({
  reads: ({ order, prefix }: Order) => [["GET", { key: `${prefix}stock` }], ["HGET", { key: `${prefix}orders` }, order]],
  begin: () => ({ left: undefined as number | undefined }),
  decide({ order, prefix }, [stock, known]: readonly Reply[], turn, fence) {
    if (known !== null) throw new Error(`${order} was decided before`);
    const left = (turn.left = (turn.left ?? Number(stock)) - 1);
    return { answer: { left, fence }, writes: [["SET", { key: `${prefix}stock` }, left], ["HSET", { key: `${prefix}orders` }, order, fence]] };
  },
});

let arrived = 0;

export default {
  async fetch(request: Request, _env: unknown, context: { waitUntil(promise: Promise<unknown>): void }): Promise<Response> {
    if (request.method === "GET") return new Response(`${arrived}`);
    const { url, credential, prefix, background, heeds } = (await request.json()) as Asked;
    const waitUntil = background ? { waitUntil: (promise: Promise<unknown>) => context.waitUntil(promise) } : {};
    // A driver that is gone is noticed by this time-out. Where turns go on, nobody may be.
    const requestTimeout = background ? 600_000 : 3_000;
    const client = new Client({ url, credential, prefix, push: false, requestTimeout, ...waitUntil });
    const submitted = sales.submit(client.lock("a", { ttl: 20_000, wait: 20_000 }), { order: new URL(request.url).pathname, prefix }, heeds ? { signal: request.signal } : {});
    arrived++;
    try {
      return Response.json(await submitted);
    } catch (error) {
      if (!(error instanceof EdgelockError)) throw error;
      return Response.json({ code: error.code, isOutcomeUnknown: error.isOutcomeUnknown });
    }
  },
};
