// What differs from host to host, in older Nodes, by `require`, in Bun and in Deno.
import { run } from "./harness.js";
import { hosts } from "./hosts.js";
import { elsewhere } from "./suites.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [...elsewhere.alone, hosts], console.log, elsewhere.beside).then((passed) => process.exit(passed ? 0 : 1));
