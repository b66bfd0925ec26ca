// The entry where the host compiles wasm modules that are imported.
import module from "./edgelock.wasm";
import { use } from "./instance.js";

use(() => module);
export * from "./public.js";
