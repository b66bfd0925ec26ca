// The suites as a handler of Vercel's edge runtime.
import { POST } from "../examples/recipes/next_edge.js";
import { contract } from "./contract.js";
import { deadlines } from "./deadlines.js";
import { debounces } from "./debounce.js";
import { examples } from "./examples.js";
import { fetches } from "./fetches.js";
import { group } from "./group.js";
import { run } from "./harness.js";
import { handlers } from "./idempotent.js";
import { javascript } from "./javascript.js";
import { limits } from "./limits.js";
import { multis } from "./multi.js";
import { onces } from "./once.js";
import { readWrites } from "./read_write.js";
import { hangsUp, recipe } from "./recipe.js";
import { semaphores } from "./semaphore.js";
import { throttles } from "./throttle.js";
import { waiting } from "./waiting.js";

interface FetchEvent extends Event {
  respondWith(response: Promise<Response>): void;
}

const nextEdge = (id: string, signal: AbortSignal) => {
  const request = new Request(`https://shop.example/orders/${id}`, { method: "POST", body: "{}", signal });
  return POST(request, { params: Promise.resolve({ id }) });
};

addEventListener("fetch", (event) => {
  const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
  const lines: string[] = [];
  const answer = async () => {
    const passed = await run({ url, credential }, [contract, semaphores, readWrites, multis, onces, throttles, debounces, handlers, javascript, fetches, limits, waiting, group, examples, hangsUp("next_edge", nextEdge)], (line) => lines.push(line), { ...deadlines, ...recipe("next_edge", nextEdge) });
    return new Response(lines.join("\n"), { status: passed ? 200 : 500 });
  };
  (event as FetchEvent).respondWith(answer());
});
