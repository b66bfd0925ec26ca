// The suites in Node, Bun and Deno.
import { contract } from "./contract.js";
import { examples } from "./examples.js";
import { fetches } from "./fetches.js";
import { run } from "./harness.js";
import { javascript } from "./javascript.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_TOKEN: token = "" } = process.env;
run({ url, token }, [contract, javascript, fetches, examples], console.log).then((passed) => process.exit(passed ? 0 : 1));
