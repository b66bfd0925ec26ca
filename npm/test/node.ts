// The suites in Node.
import { examples } from "./examples.js";
import { run } from "./harness.js";
import { hosts } from "./hosts.js";
import { keys } from "./keys.js";
import { misuse } from "./misuse.js";
import { alone, beside, crowd } from "./suites.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [...alone, crowd, misuse, keys, hosts, examples], console.log, beside).then((passed) => process.exit(passed ? 0 : 1));
