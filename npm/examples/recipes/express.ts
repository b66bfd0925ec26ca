import { Client } from "edgelock";
import express, { type ErrorRequestHandler } from "express";
import { hungUp } from "./hung_up.js";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const client = Client.fromEnv();

export const app = express();

app.post("/orders/:id", async (request, response) => {
  const { id } = request.params;
  const lock = client.lock(`order:${id}`, { wait: 3_000 });
  const signal = hungUp(response);
  response.json(await lock.run((lease) => shop.ship(id, lease.signal), { signal }));
});

const refuse: ErrorRequestHandler = async (error, _request, response, _next) => {
  const refused = refusal(error);
  response.status(refused.status).setHeaders(refused.headers).end(await refused.text());
};

app.use(refuse);
