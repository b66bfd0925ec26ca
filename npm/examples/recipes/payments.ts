// A card is charged once for each `Idempotency-Key`, by a server of Node's: `getRequestListener`
// makes a listener for `(request, response)` of a handler that is executed once. The bank gets the
// key, too: if Redis goes away after the charge, the client has to send it again.
import { getRequestListener } from "@hono/node-server";
import { Client, idempotent } from "edgelock";
import express from "express";
import { fastify } from "fastify";
import { refusal } from "./refusal.js";

/** Stands for your own code. */
export const bank = { charge: async (account: string, cents: number, _key: string): Promise<string> => `${account} paid ${cents}` };

const account = ({ headers }: Request): string => headers.get("x-account") ?? "nobody";

async function pay(request: Request): Promise<Response> {
  // As it was sent: for a signature of the body, take its bytes here.
  const { cents } = (await request.json()) as { cents: number };
  const key = `${account(request)} ${request.headers.get("idempotency-key")}`;
  const receipt = await bank.charge(account(request), cents, key);
  return Response.json({ receipt }, { status: 201, headers: { location: "/payments/1" } });
}

/** What `pay` throws is logged, and answered with a 500. */
function failed(error: unknown): Response {
  try {
    return refusal(error);
  } catch {
    console.error(error);
    return new Response("internal error", { status: 500 });
  }
}

const once = idempotent(pay, { client: Client.fromEnv(), scope: account, required: true, wait: 1_000 });

/** For `createServer` of `node:http`, too: look at path and method first, as a router does. */
export const listener = getRequestListener(once, { errorHandler: failed });

export const inExpress = express();
// Before `express.json()`, which would leave no body to be read.
inExpress.post("/payments", listener);
inExpress.use(express.json());

export const inFastify = fastify();
inFastify.register(async (scope) => {
  // The listener reads the body.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  scope.post("/payments", (request, reply) => {
    reply.hijack();
    return listener(request.raw, reply.raw);
  });
});
