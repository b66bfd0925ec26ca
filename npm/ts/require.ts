// The entry for CommonJS. Node reads the module from its file, which is faster than to read it as
// text. In a bundle there is no such file, but the text.
import { build } from "edgelock-wasm";
import { decode } from "./decode.js";
import { use } from "./instance.js";

declare const __dirname: string;
declare const require: (path: "./text.cjs") => string;

interface Host {
  readonly process: { getBuiltinModule(name: "node:fs"): { readFileSync(path: string): Uint8Array<ArrayBuffer> } };
}

use(() => fromFile() ?? new WebAssembly.Module(decode(require("./text.cjs"))));
export * from "./public.js";

function fromFile(): WebAssembly.Module | undefined {
  // It would ask its user for the permission to read.
  if ("Deno" in globalThis) return undefined;
  try {
    const { readFileSync } = (globalThis as unknown as Host).process.getBuiltinModule("node:fs");
    const found = new WebAssembly.Module(readFileSync(`${__dirname}/edgelock.wasm`));
    // Beside a bundle there may be that of another version.
    return WebAssembly.Module.customSections(found, build).length > 0 ? found : undefined;
  } catch {
    return undefined;
  }
}
