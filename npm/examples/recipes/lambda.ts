import type { LambdaFunctionURLHandler } from "aws-lambda";
import { Client } from "edgelock";
import { refusal } from "./refusal.js";
import { shop } from "./shop.js";

const client = Client.fromEnv();

export const handler: LambdaFunctionURLHandler = async ({ rawPath }, context) => {
  const [, , id = ""] = rawPath.split("/");
  const lock = client.lock(`order:${id}`, { wait: 1_000 });
  // Ends before Lambda stops the function, so that the lock is given back.
  const signal = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - 500));
  try {
    const shipped = await lock.run((lease) => shop.ship(id, lease.signal), { signal });
    return { statusCode: 200, body: JSON.stringify(shipped) };
  } catch (error) {
    const refused = refusal(error);
    const headers = { "retry-after": refused.headers.get("retry-after") ?? "5" };
    return { statusCode: refused.status, headers, body: await refused.text() };
  }
};
