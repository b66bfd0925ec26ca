// The suites in Node, Bun and Deno.
import { connection } from "./connection.js";
import { contract } from "./contract.js";
import { deadlines } from "./deadlines.js";
import { debounces } from "./debounce.js";
import { examples } from "./examples.js";
import { fetches } from "./fetches.js";
import { group } from "./group.js";
import { run } from "./harness.js";
import { handlers } from "./idempotent.js";
import { javascript } from "./javascript.js";
import { keys } from "./keys.js";
import { limits } from "./limits.js";
import { misuse } from "./misuse.js";
import { multis } from "./multi.js";
import { onces } from "./once.js";
import { readWrites } from "./read_write.js";
import { semaphores } from "./semaphore.js";
import { throttles } from "./throttle.js";
import { waiting } from "./waiting.js";

const { EDGELOCK_BRIDGE_URL: url = "", EDGELOCK_BRIDGE_CREDENTIAL: credential = "" } = process.env;
run({ url, credential }, [contract, semaphores, readWrites, multis, onces, throttles, debounces, handlers, javascript, connection, fetches, limits, misuse, keys, waiting, group, examples], console.log, deadlines).then((passed) => process.exit(passed ? 0 : 1));
