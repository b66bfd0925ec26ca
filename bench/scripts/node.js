// Serves the cases in Node, as a Worker does in workerd.
import { Redis } from "@upstash/redis";
import { answer, prepare } from "./cases.js";
import { serve } from "./serve.js";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token } = process.env;
const cases = await prepare(new Redis({ url, token }), url, token);

serve((target) => answer(cases, target));
