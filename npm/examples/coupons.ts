// A serverless handler in Node: each user gets one coupon, until there are none left. A lock that
// is taken is tried up to five more times. Nothing has to be rolled back when the lock is lost:
// then the commit did not happen. Lambda freezes the handler with its answer, and has no
// `waitUntil`: so each call is awaited.
import { Client, EdgelockError, HeldError } from "edgelock";

interface Answer {
  readonly statusCode: number;
  readonly body: string;
}

export async function handler(event: { readonly campaign: string; readonly user: string }): Promise<Answer> {
  const { campaign, user } = event;
  const [left, users] = [{ key: `coupons:{${campaign}}:left` }, { key: `coupons:{${campaign}}:users` }];
  // One try and five more, with the time between them chosen by what the holder has left.
  const options = { ttl: 8_000, wait: 4_000, maxRequests: 6 };
  try {
    const lock = Client.fromEnv(process.env, { push: false }).lock(`coupons:{${campaign}}`, options);
    const [lease, [has, stock]] = await lock.acquireAndRead([["SISMEMBER", users, user], ["GET", left]]);
    if (has === 1 || Number(stock ?? 0) < 1) {
      await lease.release();
      return { statusCode: 409, body: has === 1 ? "you have one" : "none left" };
    }
    await lease.commit([["SADD", users, user], ["DECR", left]]);
    return { statusCode: 200, body: `coupon ${lease.fence}` };
  } catch (error) {
    if (error instanceof HeldError) return { statusCode: 503, body: "failed: too many at once" };
    // Whether it was granted may be unknown: the same call again tells.
    if (error instanceof EdgelockError) return { statusCode: 502, body: `failed: ${error.code}` };
    throw error;
  }
}
