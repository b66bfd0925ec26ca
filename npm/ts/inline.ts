// The entry for every other host. It has the module as text.
import base64 from "edgelock-wasm";
import { decode } from "./decode.js";
import { use } from "./instance.js";

use(() => new WebAssembly.Module(decode(base64)));
export * from "./public.js";
