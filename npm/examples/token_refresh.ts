// One token refresh for all. A partner's access token lasts an hour, and a refresh token can be
// used once: of two handlers that refresh at the same time, the partner would turn one away for
// good.
import type { Client, Reply } from "edgelock";

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  /** When the access token ends, in milliseconds since 1970. */
  readonly ends: number;
}

/** Long enough for whoever gets the token to use it. */
const MARGIN = 60_000;

/** The access token of `account`. `exchange` sends a refresh token to the partner. */
export async function accessToken(client: Client, account: string, exchange: (refresh: string) => Promise<Tokens>): Promise<string> {
  // The tokens stand in Redis as they are: keep them in one that is yours, or encrypt them.
  const key = { key: `{oauth:${account}}:tokens` };
  const [kept] = await client.read([["GET", key]], { shardOf: `oauth:${account}` });
  const { access, ends } = tokens(kept);
  if (ends > Date.now() + MARGIN) return access;
  const [lease, [now]] = await client.lock(`oauth:${account}`, { wait: 20_000 }).acquireAndRead([["GET", key]]);
  return lease.run(async () => {
    const found = tokens(now);
    // Another handler has refreshed meanwhile.
    if (found.ends > Date.now() + MARGIN) return found.access;
    const fresh = await exchange(found.refresh);
    await lease.commit([["SET", key, JSON.stringify(fresh)]]);
    return fresh.access;
  });
}

function tokens(kept: Reply | undefined): Tokens {
  if (typeof kept !== "string") throw new Error("the account has not logged in");
  return JSON.parse(kept) as Tokens;
}
