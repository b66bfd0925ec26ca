import { Client } from "edgelock";
import { fastify } from "fastify";
import { hungUp } from "./hung_up.js";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const client = Client.fromEnv();

export const app = fastify();

app.post<{ Params: { id: string } }>("/orders/:id", (request, reply) => {
  const { id } = request.params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const signal = hungUp(reply.raw);
  return lock.run((lease) => shop.ship(id, lease.signal), { signal });
});

app.setErrorHandler(refusal);
