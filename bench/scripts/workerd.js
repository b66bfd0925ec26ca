// Serves the cases in workerd.
import { Redis } from "@upstash/redis";
import { answer, prepare } from "./cases.js";

let cases;

export default {
  async fetch(request, { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token }) {
    try {
      cases ??= await prepare(new Redis({ url, token }), url, token);
      const { pathname, search } = new URL(request.url);
      return new Response(await answer(cases, pathname + search));
    } catch (error) {
      return new Response(String(error.stack), { status: 500 });
    }
  },
};
