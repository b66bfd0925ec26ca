// netlify/functions/ship.ts
import { Client } from "edgelock";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

export const config = { path: "/orders/:id", method: "POST" };

const client = Client.fromEnv();

type Context = { readonly params: { readonly id?: string } };

export default async function ship(request: Request, context: Context): Promise<Response> {
  const { id = "" } = context.params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const { signal } = request;
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal), { signal });
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
