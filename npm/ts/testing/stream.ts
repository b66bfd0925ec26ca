// Server-sent events of a channel.

/** The body of a subscription, until its client aborts it. */
export class Stream {
  readonly #channel: string;
  readonly #signal: AbortSignal;
  readonly #hangUp: () => void;
  readonly #events: string[];
  #wake = () => {};

  constructor(channel: string, signal: AbortSignal, hangUp: () => void) {
    this.#channel = channel;
    this.#signal = signal;
    this.#hangUp = hangUp;
    this.#events = [`subscribe,${channel},1`];
    signal.addEventListener("abort", () => {
      hangUp();
      this.#wake();
    });
  }

  tell(text: string): void {
    this.#events.push(`message,${this.#channel},${text}`);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    try {
      while (!this.#signal.aborted) {
        const event = this.#events.shift();
        if (event !== undefined) yield encoder.encode(`data: ${event}\n\n`);
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.#hangUp();
    }
  }
}
