// The entry for Node, which reads the module from its file.
import { readFileSync } from "node:fs";
import { use } from "./source.js";

use(() => new WebAssembly.Module(readFileSync(new URL("./testing.wasm", import.meta.url))));
export { Table } from "./table.js";
