// Server-sent events of a channel.

/** A subscription: its body, until its client aborts it, and how it is told a message. */
export function stream(channel: string, signal: AbortSignal, hangUp: () => void) {
  const events = [`subscribe,${channel},1`];
  const encoder = new TextEncoder();
  let wake = () => {};
  signal.addEventListener("abort", () => {
    hangUp();
    wake();
  });
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      while (!signal.aborted) {
        const event = events.shift();
        if (event !== undefined) yield encoder.encode(`data: ${event}\n\n`);
        else await new Promise<void>((woken) => (wake = woken));
      }
    } finally {
      hangUp();
    }
  }
  const tell = (text: string) => {
    events.push(`message,${channel},${text}`);
    wake();
  };
  return { body: read(), tell };
}
