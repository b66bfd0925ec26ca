// The entry for every other host: the module comes along as text.
import base64 from "edgelock-wasm";
import { use } from "./instance.js";

let module: WebAssembly.Module | undefined;

// Compiled when it is first needed.
use(() => (module ??= new WebAssembly.Module(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)))));
export * from "./public.js";
