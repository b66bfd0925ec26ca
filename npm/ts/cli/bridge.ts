// Where the bridge is: an option, or the environment. Its credential is never an argument.
import { Client, type ClientSettings } from "edgelock";
import { UsageError } from "./exit.js";

/** The values of {@link COMMON}. */
export interface BridgeArguments {
  readonly url?: string | undefined;
  readonly webdis?: string | undefined;
  readonly "plain-http"?: boolean | undefined;
}

const background = new Set<Promise<unknown>>();

/** A client of the bridge. What it leaves to the background is waited for at the end. */
export function connect({ url, webdis, "plain-http": plainHttp }: BridgeArguments, settings: ClientSettings = {}): Client {
  const { env } = process;
  const waitUntil = (promise: Promise<unknown>) => {
    background.add(promise);
    void promise.finally(() => background.delete(promise));
  };
  const all = { ...settings, plainHttp, waitUntil };
  if (webdis === undefined) return Client.fromEnv(url === undefined ? env : { ...env, EDGELOCK_BRIDGE_URL: url }, all);
  const address = url ?? env["EDGELOCK_BRIDGE_URL"];
  const password = env["EDGELOCK_BRIDGE_CREDENTIAL"];
  if (address === undefined) throw new UsageError("where is the webdis? Give --url, or set EDGELOCK_BRIDGE_URL");
  if (password === undefined) throw new UsageError("--webdis needs the user's password: set EDGELOCK_BRIDGE_CREDENTIAL");
  return new Client({ ...all, url: address, webdis: { user: webdis, password } });
}

/**
 * Waits for the clean-up that goes on in the background: a lock that was given up, a place in a
 * queue. Not for a lease that could not be given back, of which nothing is under way.
 */
export async function settled(): Promise<void> {
  const idle = new Promise<void>((idle) => process.once("beforeExit", () => idle()));
  await Promise.race([Promise.allSettled(background), idle]);
}
