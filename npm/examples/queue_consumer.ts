// A consumer of a queue that delivers at least once, as Cloudflare Queues and SQS do: each order is
// confirmed by one mail, however often, and to how many consumers at once, its message is
// delivered.
import { Client, HeldError } from "edgelock";

interface Order {
  readonly id: string;
  readonly to: string;
}

interface Message {
  readonly body: Order;
  ack(): void;
  retry(options: { readonly delaySeconds: number }): void;
}

interface Env {
  readonly MAIL: { send(to: string, text: string): Promise<{ readonly id: string }> };
}

export default {
  async queue(batch: { readonly messages: readonly Message[] }, env: Env, context: { waitUntil(promise: Promise<unknown>): void }): Promise<void> {
    const client = Client.fromEnv(env, { waitUntil: (promise) => context.waitUntil(promise) });
    await Promise.all(batch.messages.map((message) => consume(client, env, message)));
  },
};

async function consume(client: Client, env: Env, message: Message): Promise<void> {
  const { id, to } = message.body;
  // Kept for longer than the queue keeps a message.
  const once = client.once(`confirmation:${id}`, { keep: 7 * 24 * 60 * 60 * 1_000, ttl: 2_000, wait: 8_000 });
  try {
    const { value, replayed } = await once.run(() => env.MAIL.send(to, `Order ${id} is on its way.`));
    if (!replayed) console.log(`order ${id}: mail ${value.id}`);
    message.ack();
  } catch (error) {
    // Another is at it yet, or it failed: nothing is kept, so it is tried again.
    const delaySeconds = error instanceof HeldError ? Math.ceil(error.retryAfter / 1_000) : 10;
    message.retry({ delaySeconds });
  }
}
