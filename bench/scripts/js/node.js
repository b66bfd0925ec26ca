// Serves the cases in Node, as a Worker does in workerd.
import { serve } from "../serve.js";
import { answer } from "./cases.js";

const { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token } = process.env;

serve((target) => answer({ url, token }, target));
