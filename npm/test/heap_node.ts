// What calls leave behind in Node: of the kinds that need finalizers, if it is told so, else of the
// others, as in a host without finalizers.
import "./memory.js";
import { Client } from "edgelock";
import { FINALIZED, KINDS } from "./calls.js";
import { runAll } from "./growth.js";
import { node } from "./node_host.js";

const isFinalized = process.argv[2] === "finalized";
if (!isFinalized) {
  // Workers from before 2025-05-05 have no finalizers. Node itself needs them, so they are missing
  // only while the module is prepared.
  const { FinalizationRegistry: registry } = globalThis;
  Reflect.deleteProperty(globalThis, "FinalizationRegistry");
  new Client({ url: "https://bridge.example", credential: "credential" });
  globalThis.FinalizationRegistry = registry;
}
const kinds = new Map([...KINDS].filter(([kind]) => FINALIZED.includes(kind) === isFinalized));
runAll(node, kinds).then((passed) => process.exit(passed ? 0 : 1));
