// The suites as a handler of Vercel's edge runtime.
import { POST } from "../examples/recipes/next_edge.js";
import { examples } from "./examples.js";
import { run } from "./harness.js";
import { hangsUp, recipe } from "./recipe.js";
import { alone, beside } from "./suites.js";

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
    const passed = await run({ url, credential }, [...alone, examples, hangsUp("next_edge", nextEdge)], (line) => lines.push(line), [...beside, recipe("next_edge", nextEdge)]);
    return new Response(lines.join("\n"), { status: passed ? 200 : 500 });
  };
  (event as FetchEvent).respondWith(answer());
});
