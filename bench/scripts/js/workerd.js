// Serves the cases in workerd.
import { answer } from "./cases.js";

export default {
  async fetch(request, { EDGELOCK_BRIDGE_URL: url, EDGELOCK_BRIDGE_CREDENTIAL: token }) {
    try {
      const { pathname, search } = new URL(request.url);
      return new Response(await answer({ url, token }, pathname + search));
    } catch (error) {
      return new Response(String(error.stack), { status: 500 });
    }
  },
};
