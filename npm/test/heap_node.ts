// What calls leave behind in Node, used as a host without finalizers.
import "./memory.js";
import { Client } from "edgelock";
import { FINALIZED, KINDS } from "./calls.js";
import { runAll } from "./growth.js";
import { node } from "./node_host.js";

// Workers from before 2025-05-05 have no finalizers. Node itself needs them, so they are missing
// only while the module is prepared.
const { FinalizationRegistry: registry } = globalThis;
Reflect.deleteProperty(globalThis, "FinalizationRegistry");
new Client({ url: "https://bridge.example", credential: "credential" });
globalThis.FinalizationRegistry = registry;

const kinds = new Map([...KINDS].filter(([kind]) => !FINALIZED.includes(kind)));
runAll(node, kinds).then((passed) => process.exit(passed ? 0 : 1));
