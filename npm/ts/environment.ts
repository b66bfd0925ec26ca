// Where hosts keep their variables, and the names under which they give a bridge.
import { invalidArgument } from "./make-error.js";

const NAMES = [
  ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"],
  ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
  ["KV_REST_API_URL", "KV_REST_API_TOKEN"],
] as const;

interface Host {
  readonly process?: { readonly env?: object };
  readonly Deno?: { readonly env?: object };
}

/** The variables of the process, where there is one. */
export function environment(): object {
  const host = globalThis as Host;
  return host.process?.env ?? host.Deno?.env ?? {};
}

/**
 * The first pair of names for which `env` has both values. Half a pair is a mistake: another bridge
 * would be another Redis.
 */
export function lookUp(env: object): { readonly url: string; readonly credential: string } {
  const get = reader(env);
  for (const [urlName, credentialName] of NAMES) {
    const url = get(urlName);
    const credential = get(credentialName);
    if (typeof url === "string" && typeof credential === "string") return { url, credential };
    if (typeof url === "string") throw half(urlName, credentialName);
    if (typeof credential === "string") throw half(credentialName, urlName);
  }
  throw invalidArgument(`the environment names no bridge: set ${NAMES.map((pair) => pair.join(" and ")).join(", or ")}; a host that asks for permissions must let them be read`, "no_environment");
}

const half = (set: string, missing: string) => invalidArgument(`the environment has ${set}, and no ${missing}: set both`, "no_environment");

function reader(env: object): (name: string) => unknown {
  // Reading it from the process is reading a variable, for which Deno asks for its own permission.
  const isProcess = env === (globalThis as Host).process?.env;
  const get = !isProcess && "get" in env && typeof env.get === "function" ? env.get.bind(env) : (name: string) => (env as Readonly<Record<string, unknown>>)[name];
  return (name) => {
    try {
      return get(name);
    } catch {
      // A process that may read Upstash's variables may not be allowed to read ours.
      return undefined;
    }
  };
}
