// src/routes/orders/[id]/+server.ts
import { env } from "$env/dynamic/private";
import { Client } from "edgelock";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const client = Client.fromEnv(env);

type Event = { readonly params: { readonly id: string }; readonly request: Request };

export async function POST({ params, request }: Event): Promise<Response> {
  const { id } = params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const { signal } = request;
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal), { signal });
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
