// The recipe for Deno Deploy in Deno. It serves as it does there, but on a port that the system
// picks.
import { run } from "./harness.js";
import { hangsUp, recipe } from "./recipe.js";

interface Served {
  readonly addr: { readonly port: number };
}

const serve = Deno.serve as unknown as (options: object, handler: Deno.Handler) => Served;
const port = new Promise<number>((served) => {
  Deno.serve = (handler) => served(serve({ port: 0, hostname: "127.0.0.1" }, handler).addr.port);
});
await import("../examples/recipes/deno.js");

const address = `http://127.0.0.1:${await port}/orders`;
const call = (order: string, signal: AbortSignal) => fetch(`${address}/${order}`, { method: "POST", body: "{}", signal });
const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [hangsUp("deno", call)], console.log, [recipe("deno", call)]).then((passed) => process.exit(passed ? 0 : 1));
