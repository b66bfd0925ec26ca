// The entry for Vercel's edge runtime, which marks such imports.
import module from "./edgelock.wasm?module";
import { use } from "./instance.js";

use(() => module);
export * from "./public.js";
