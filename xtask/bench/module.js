// The client's wasm, as Node reads it.
import { readFileSync } from "node:fs";

export const module = new WebAssembly.Module(readFileSync(new URL("./edgelock.wasm", import.meta.url)));
