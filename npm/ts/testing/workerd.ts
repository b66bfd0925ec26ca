// The entry for hosts that compile imported wasm modules.
import module from "./testing.wasm";
import { use } from "./source.js";

use(() => module);
export { Table } from "./table.js";
