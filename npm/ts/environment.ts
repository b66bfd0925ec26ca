// Where hosts keep their variables, and under which names a bridge is found there.
import { invalidArgument } from "./errors.js";

const NAMES = [
  ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_TOKEN"],
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

/** The first pair of names that `env` has both of. One that it has half of is a mistake: another bridge would be another Redis. */
export function lookUp(env: object): { readonly url: string; readonly token: string } {
  const get = reader(env);
  for (const [urlName, tokenName] of NAMES) {
    const url = get(urlName);
    const token = get(tokenName);
    if (typeof url === "string" && typeof token === "string") return { url, token };
    if (typeof url === "string") throw invalidArgument(`the environment has ${urlName}, and no ${tokenName}`);
    if (typeof token === "string") throw invalidArgument(`the environment has ${tokenName}, and no ${urlName}`);
  }
  throw invalidArgument(`the environment has no ${NAMES.map((pair) => pair.join(" and ")).join(", no ")}`);
}

function reader(env: object): (name: string) => unknown {
  if ("get" in env && typeof env.get === "function") return (name) => (env as { get(name: string): unknown }).get(name);
  return (name) => (env as Readonly<Record<string, unknown>>)[name];
}
