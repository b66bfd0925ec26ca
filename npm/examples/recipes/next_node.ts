// app/orders/[id]/route.ts
import { Client } from "edgelock";
import { refusal } from "./refusal";
import { shop } from "./shop";

const client = Client.fromEnv();

type Context = { readonly params: Promise<{ readonly id: string }> };

export async function POST(request: Request, { params }: Context): Promise<Response> {
  const { id } = await params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const { signal } = request;
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal), { signal });
    return Response.json(shipped);
  } catch (error) {
    return refusal(error);
  }
}
