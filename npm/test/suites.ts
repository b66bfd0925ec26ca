// The suites of all hosts. Node and workerd run each of them.
import { contract } from "./contract.js";
import { deadlines } from "./deadlines.js";
import { fetches } from "./fetches.js";
import { group } from "./group.js";
import { guessed } from "./guessed.js";
import { apart } from "./harness.js";
import { handlers } from "./idempotent.js";
import { javascript } from "./javascript.js";
import { kinds } from "./kinds.js";
import { limits } from "./limits.js";
import { onces } from "./once.js";
import { own, ownOfRedis } from "./own.js";
import { tables } from "./table.js";
import { values } from "./values.js";
import { waiting } from "./waiting.js";

// It takes all places of the process, and much of its time: Node runs it.
export const [crowd, waitingBeside] = apart(waiting, "beside_ten_thousand_waiters_of_one_process_nobody_waits");

/** What any Redis does, behind whatever bridge. */
export const ofKinds = [kinds, onces, own];

/** None of their tests changes what others use. */
const promises = [contract, ...ofKinds, ownOfRedis, waitingBeside];

/** Suites that may run at once, where a host has connections for all. What lasts comes first. */
export const beside = [deadlines, ...promises];

/** Suites that run one test after another, since some change what all of the host use. */
export const alone = [handlers, javascript, fetches, limits, values, group, guessed, tables];

/** What differs from host to host: how each sends requests, hears streams and runs JavaScript. */
export const elsewhere = { beside: [contract], alone: [javascript, fetches, group, tables] };
