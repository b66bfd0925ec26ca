// What calls leave behind in Node, as on a host without finalizers.
import "./memory.js";
import { Client } from "edgelock";
import { FINALIZED, KINDS } from "./calls.js";
import { runAll } from "./growth.js";
import { node } from "./node_host.js";

// Workers of before 2025-05-05 have none. Node itself wants one, so it is missing only while the
// module is made ready.
const { FinalizationRegistry: registry } = globalThis;
Reflect.deleteProperty(globalThis, "FinalizationRegistry");
new Client({ url: "https://bridge.example", credential: "credential" });
globalThis.FinalizationRegistry = registry;

const kinds = new Map([...KINDS].filter(([kind]) => !FINALIZED.includes(kind)));
runAll(node, kinds).then((passed) => process.exit(passed ? 0 : 1));
