// A route handler as in Next.js's `app/report/route.ts`: a report is made by one instance at a
// time, and read by all.
import { Client, HeldError } from "edgelock";
import { after } from "next/server";

export const runtime = "edge";

/** What this host is to go on with, whatever becomes of the caller. */
const clientOf = ({ signal }: Request) => Client.fromEnv(process.env, { waitUntil: after, signal });
const report = { key: "{report}:text" };

export async function POST(request: Request): Promise<Response> {
  // Kept for as long as the work takes, by renewing it, and given back at the end.
  const lock = clientOf(request).lock("report", { ttl: 5_000, wait: 0, maxHold: 60_000 });
  try {
    const text = await lock.run(async (lease) => {
      const text = await write(await request.text(), lease.signal);
      // Arrives only if the lock is still held.
      await lease.exec([["SET", report, text]]);
      return text;
    });
    return new Response(text, { status: 201 });
  } catch (error) {
    if (error instanceof HeldError) return new Response("is being made", { status: 202 });
    throw error;
  }
}

export async function GET(request: Request): Promise<Response> {
  const [text] = await clientOf(request).read([["GET", report]]);
  return typeof text === "string" ? new Response(text) : new Response("none yet", { status: 404 });
}

/** Stands for what takes long. It stops when the lock is lost. */
async function write(subject: string, signal: AbortSignal): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  signal.throwIfAborted();
  return `All about ${subject}.`;
}
