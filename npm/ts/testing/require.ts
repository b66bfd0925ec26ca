// The entry for CommonJS in Node.
import { readFileSync } from "node:fs";
import { use } from "./source.js";

declare const __dirname: string;

use(() => new WebAssembly.Module(readFileSync(`${__dirname}/testing.wasm`)));
export { Table } from "./table.js";
