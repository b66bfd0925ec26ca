// A payment provider's webhook as a Worker. The provider sends an event until it is answered with
// 2xx: so it comes twice, at once, and again when an answer was lost. Each is booked once, and all
// get the answer of the first.
import { Client, idempotent } from "edgelock";

interface Payment {
  /** The provider's own, the same each time it sends the event. */
  readonly id: string;
  readonly account: string;
  readonly cents: number;
}

interface Env {
  /**
   * The ledger, a service of its own. It knows a booking by its id: a handler that died may have
   * booked without a word.
   */
  readonly LEDGER: { fetch(request: Request): Promise<Response> };
}

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

/** A booking that has begun goes on if the provider hangs up. */
const client = ({ signal }: Request, env: Env, context: Context) =>
  Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise), signal });

/** The body can be read once, so each reads a copy. */
const payment = async (request: Request): Promise<Payment> => request.clone().json();

/** The same event must come with the same body. */
async function fingerprint(request: Request): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await request.clone().arrayBuffer());
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}

async function book(request: Request, env: Env, _: Context): Promise<Response> {
  const { id, account, cents } = await payment(request);
  const body = JSON.stringify({ account, cents });
  const booked = await env.LEDGER.fetch(new Request(`https://ledger/bookings/${encodeURIComponent(id)}`, { method: "PUT", body }));
  // What fails is not kept: the provider sends it again, and it is tried again.
  if (!booked.ok) return new Response("the ledger is away", { status: 503 });
  return Response.json({ booked: cents }, { status: 201 });
}

const key = async (request: Request) => `payment:${(await payment(request)).id}`;

export default { fetch: idempotent(book, { client, key, fingerprint, ttl: 2_000, wait: 8_000 }) };
