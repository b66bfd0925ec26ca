// What differs from host to host, in older Nodes, by `require`, in Bun and in Deno.
import { connection } from "./connection.js";
import { run } from "./harness.js";
import { hosts } from "./hosts.js";
import { elsewhere } from "./suites.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
const suites = [...elsewhere.alone, connection, hosts];
run({ url, credential }, suites, console.log, elsewhere.beside).then((passed) => process.exit(passed ? 0 : 1));
