// The entry for CommonJS in Node.
import { readFileSync } from "node:fs";
import { use } from "./source.js";

declare const __dirname: string;

let module: WebAssembly.Module | undefined;

use(() => (module ??= new WebAssembly.Module(readFileSync(`${__dirname}/testing.wasm`))));
export { Table } from "./table.js";
