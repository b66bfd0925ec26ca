// The entry for every other host. It has the module as text.
import base64 from "edgelock-table-wasm";
import { decode } from "../decode.js";
import { use } from "./source.js";

use(() => new WebAssembly.Module(decode(base64)));
export { Table } from "./table.js";
