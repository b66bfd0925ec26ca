// A seat that one request holds and another one books, in a Worker: whoever chose it has two
// minutes to pay. The token is a cookie, so no other page and no log has it.
import { Client, HeldError, LostError } from "edgelock";

interface Context {
  waitUntil(promise: Promise<unknown>): void;
}

const MINUTES_2 = 120_000;

export default {
  async fetch(request: Request, env: object, context: Context): Promise<Response> {
    const client = Client.fromEnv(env, { waitUntil: (work) => context.waitUntil(work) });
    const [, seat, step] = new URL(request.url).pathname.match(/^\/seats\/(\w{1,20})\/(hold|book)$/) ?? [];
    if (request.method !== "POST" || seat === undefined) return new Response("no such route", { status: 404 });
    const lock = client.lock(`seat:${seat}`, { ttl: MINUTES_2, wait: 0 });
    const buyer = { key: `{seat:${seat}}:buyer` };
    try {
      if (step === "hold") {
        const [lease, [sold]] = await lock.acquireAndRead([["GET", buyer]]);
        if (sold !== null) {
          await lease.release();
          return new Response("sold", { status: 410 });
        }
        const cookie = `seat=${lease.handOver()}; Path=/seats/${seat}; Max-Age=120; HttpOnly; Secure; SameSite=Lax`;
        return new Response("yours for two minutes", { status: 201, headers: { "set-cookie": cookie } });
      }
      const [, token] = request.headers.get("cookie")?.match(/(?:^|; )seat=([\w-]{22})(?:;|$)/) ?? [];
      if (token === undefined) return new Response("hold it first", { status: 409 });
      // Runs only if the seat is still held by this token.
      await lock.resume(token).commit([["SET", buyer, await request.text()]]);
      return new Response("booked");
    } catch (error) {
      if (error instanceof HeldError) return new Response("somebody else is about to pay", { status: 409 });
      if (error instanceof LostError) return new Response("the two minutes are over, or it is booked", { status: 410 });
      throw error;
    }
  },
};
