// Serves the cases in Node, as a Worker does in workerd.
import { serve } from "../serve.js";
import { answer } from "./cases.js";

const { BRIDGE_URL: url, BRIDGE_CREDENTIAL: token } = process.env;

serve((target) => answer({ url, token }, target));
