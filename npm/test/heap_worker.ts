// Makes calls in workerd: `GET /<kind>?<count>`.
import { wasmBytes } from "./memory.js";
import { maker } from "./calls.js";

interface Env {
  readonly EDGELOCK_BRIDGE_URL: string;
  readonly EDGELOCK_BRIDGE_CREDENTIAL: string;
}

let make: ReturnType<typeof maker> | undefined;

async function answer(url: URL, { EDGELOCK_BRIDGE_URL, EDGELOCK_BRIDGE_CREDENTIAL }: Env): Promise<string> {
  const kind = decodeURIComponent(url.pathname.slice(1));
  if (kind === "") return `${wasmBytes()}`;
  make ??= maker({ url: EDGELOCK_BRIDGE_URL, credential: EDGELOCK_BRIDGE_CREDENTIAL });
  await make(kind, Number(url.search.slice(1)));
  return "made";
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      return new Response(await answer(new URL(request.url), env));
    } catch (error) {
      return new Response(error instanceof Error ? `${error.stack}` : String(error), { status: 500 });
    }
  },
};
