// Runs a handler's script in Vercel's edge runtime. That has no modules, so the script is given its
// wasm already compiled.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EdgeRuntime } from "edge-runtime";

const [folder = ""] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(join(folder, "edgelock.wasm")));
const { EDGELOCK_BRIDGE_URL, EDGELOCK_BRIDGE_CREDENTIAL } = process.env;

const runtime = new EdgeRuntime({
  extend: (context) => Object.assign(context, { require: () => module, process: { env: { EDGELOCK_BRIDGE_URL, EDGELOCK_BRIDGE_CREDENTIAL } } }),
  initialCode: readFileSync(join(folder, "index.js"), "utf8"),
});
const response = await runtime.dispatchFetch("https://edge.example/");
console.log(await response.text());
process.exit(response.ok ? 0 : 1);
