// The entry for hosts that compile imported wasm modules.
import module from "./edgelock.wasm";
import { use } from "./instance.js";

use(() => module);
export * from "./public.js";
