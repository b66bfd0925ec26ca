// The recipes in Node: called as their frameworks call them, or served.
import { createAdaptorServer } from "@hono/node-server";
import type { LambdaFunctionURLEvent, LambdaFunctionURLResult } from "aws-lambda";
import { createServer, type Server } from "node:http";
import * as astro from "../examples/recipes/astro.js";
import { daily } from "../examples/recipes/daily.js";
import { app as express } from "../examples/recipes/express.js";
import { app as fastify } from "../examples/recipes/fastify.js";
import { app as hono } from "../examples/recipes/hono.js";
import honoWorker from "../examples/recipes/hono_worker.js";
import { handler as lambda } from "../examples/recipes/lambda.js";
import netlify from "../examples/recipes/netlify.js";
import { sellsOnceThoughTheReplyIsLost } from "../examples/recipes/no_server.js";
import * as nextNode from "../examples/recipes/next_node.js";
import { refusal } from "../examples/recipes/refusal.js";
import { action as remix } from "../examples/recipes/remix.js";
import * as sveltekit from "../examples/recipes/sveltekit.js";
import { listening } from "./between.js";
import { chats } from "./chat.js";
import { equal, eventually, run, type Suite, thrown } from "./harness.js";
import { medusas } from "./medusa.js";
import { payments } from "./payments.js";
import { type Call, clerks, hangsUp, recipe } from "./recipe.js";

const post = (order: string, signal: AbortSignal) => new Request(`https://shop.example/orders/${order}`, { method: "POST", body: "{}", signal });

/** What hosts give with a request. */
const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
const variables = process.env as Record<string, string>;

/** Recipes that are called in the way of their frameworks. */
const called: Record<string, Call> = {
  next_node: (id, signal) => nextNode.POST(post(id, signal), { params: Promise.resolve({ id }) }),
  sveltekit: (id, signal) => sveltekit.POST({ params: { id }, request: post(id, signal) }),
  remix: (id, signal) => remix({ params: { id }, request: post(id, signal) }),
  astro: (id, signal) => astro.POST({ params: { id }, request: post(id, signal) }),
  netlify: (id, signal) => netlify(post(id, signal), { params: { id }, ...context }),
  hono_worker: async (id, signal) => honoWorker.fetch(post(id, signal), variables, context),
};

/** Lets Lambda run the function, with so many milliseconds left. */
async function invoke(id: string, remaining = 60_000): Promise<Response> {
  const context = { getRemainingTimeInMillis: () => remaining } as Parameters<typeof lambda>[1];
  const event = { version: "2.0", rawPath: `/orders/${id}`, headers: { "content-type": "application/json" }, body: "{}", isBase64Encoded: false };
  const result = (await lambda(event as unknown as LambdaFunctionURLEvent, context, () => {})) as Exclude<LambdaFunctionURLResult, string>;
  return new Response(result.body ?? null, { status: result.statusCode ?? 200, headers: result.headers as Record<string, string> });
}

/** Recipes that are served, on ports that the system picks. */
async function served(): Promise<Record<string, Call>> {
  const over = (url: string): Call => (id, signal) => {
    const headers = { "content-type": "application/json" };
    return fetch(`${url}/orders/${id}`, { method: "POST", headers, body: "{}", signal });
  };
  const fastifies = await fastify.listen({ port: 0, host: "127.0.0.1" });
  return { hono: over(await listening(createAdaptorServer({ fetch: hono.fetch }) as Server)), express: over(await listening(createServer(express))), fastify: over(fastifies) };
}

const DAY_MS = 86_400_000;

/** A day that no other test has. Dates have four digits for the year until 9999. */
const dayOf = (mark: string): Date => new Date((Number.parseInt(mark, 16) % 2_900_000) * DAY_MS);

const others: Suite = {
  async a_function_that_comes_to_its_limit_stops_and_gives_the_lock_back({ mark }) {
    const order = `${mark}late`;
    clerks.set(order, (signal) => new Promise((stopped) => signal.addEventListener("abort", () => stopped())));
    const { name } = (await thrown(invoke(order, 600))) as Error;
    equal(name, "TimeoutError");
    clerks.delete(order);
    equal((await invoke(order)).status, 200);
  },

  async what_is_no_refusal_is_thrown_on() {
    const fault = new Error("a fault");
    equal((await thrown(() => refusal(fault))) === fault, true);
  },

  async daily_work_is_done_once_for_each_date_however_many_clocks_strike({ mark }) {
    const day = dayOf(mark);
    let [begun, isOpen] = [0, false];
    const work = async () => {
      begun++;
      await eventually(() => isOpen);
    };
    const clocks = Array.from({ length: 4 }, () => daily(work, day));
    await eventually(() => begun === 1);
    isOpen = true;
    equal((await Promise.all(clocks)).filter(Boolean).length, 1);
    equal([await daily(work, day), begun], [false, 1]);
    equal([await daily(work, new Date(day.getTime() + DAY_MS)), begun], [true, 2]);
  },

  async a_test_needs_no_server() {
    await sellsOnceThoughTheReplyIsLost();
  },

  async daily_work_that_fails_is_done_by_the_next_call({ mark }) {
    const day = dayOf(mark);
    equal(await thrown(daily(() => Promise.reject("no power"), day)), "no power");
    equal(await daily(async () => {}, day), true);
  },
};

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const hosts = Object.entries({ ...called, ...(await served()) });
const promises = [...hosts, ["lambda", (id: string) => invoke(id)] as const].map(([name, call]) => recipe(name, call));
const stops = hosts.map(([name, call]) => hangsUp(name, call));
// Most of these tests wait for another holder.
const waiting: Suite = Object.assign({}, ...promises);
run({ url, credential }, [...stops, others, await payments(), chats, medusas], console.log, [waiting]).then((passed) => process.exit(passed ? 0 : 1));
