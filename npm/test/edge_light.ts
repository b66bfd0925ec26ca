// The suites as a handler of Vercel's edge runtime.
import { POST } from "../examples/recipes/next_edge.js";
import { run } from "./harness.js";
import { hangsUp, recipe } from "./recipe.js";
import { elsewhere } from "./suites.js";

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
    const suites = [...elsewhere.alone, hangsUp("next_edge", nextEdge)];
    const passed = await run({ url, credential }, suites, (line) => lines.push(line), [...elsewhere.beside, recipe("next_edge", nextEdge)]);
    return new Response(lines.join("\n"), { status: passed ? 200 : 500 });
  };
  (event as FetchEvent).respondWith(answer());
});
