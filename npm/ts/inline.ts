// The entry for every other host. It has the module as text.
import base64 from "edgelock-wasm";
import { decode } from "./decode.js";
import { use } from "./instance.js";

let module: WebAssembly.Module | undefined;

// Compiled when it is first needed.
use(() => (module ??= new WebAssembly.Module(decode(base64))));
export * from "./public.js";
