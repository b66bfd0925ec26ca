// The same for the kinds that need finalizers, which Node has.
import { FINALIZED, KINDS } from "./calls.js";
import { runAll } from "./growth.js";
import { node } from "./node_host.js";

const kinds = new Map([...KINDS].filter(([kind]) => FINALIZED.includes(kind)));
runAll(node, kinds).then((passed) => process.exit(passed ? 0 : 1));
