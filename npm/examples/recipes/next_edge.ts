// app/orders/[id]/route.ts
import { Client } from "edgelock";
import { after } from "next/server";
import { refusal } from "./refusal";
import { shop } from "./shop";

export const runtime = "edge";

type Context = { readonly params: Promise<{ readonly id: string }> };

export async function POST(request: Request, { params }: Context): Promise<Response> {
  const { id } = await params;
  const { signal } = request;
  const client = Client.fromEnv(process.env, { waitUntil: after, signal });
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal));
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
