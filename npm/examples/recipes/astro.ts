// src/pages/orders/[id].ts
import { getSecret } from "astro:env/server";
import { Client } from "edgelock";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

export const prerender = false;

const client = Client.fromEnv({ get: getSecret });

type Context = { readonly params: { readonly id?: string }; readonly request: Request };

export async function POST({ params, request }: Context): Promise<Response> {
  const { id = "" } = params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const { signal } = request;
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal), { signal });
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
