// netlify/functions/ship.ts
import { Client } from "edgelock";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

export const config = { path: "/orders/:id", method: "POST" };

type Context = {
  readonly params: { readonly id?: string };
  waitUntil(promise: Promise<unknown>): void;
};

export default async function ship(request: Request, context: Context): Promise<Response> {
  const { id = "" } = context.params;
  const { signal } = request;
  const client = Client.fromEnv(process.env, { waitUntil: (promise) => context.waitUntil(promise), signal });
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal));
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
