// One HTTP exchange, done by the host in one go: each step of it that Rust would take costs a crossing.
const ANSWERED = 0;
const NO_RESPONSE = 1;
const BROKE_OFF = 2;
const TOO_LARGE = 3;
const TIMED_OUT = 4;
const NOT_SENT = 5;

// How hosts say that there was no connection: Node by the code of the cause, Bun by that of the error, Deno in words. Others do not say.
const NO_CONNECTION = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];
const wasSent = (error) =>
  !NO_CONNECTION.includes(error?.cause?.code ?? error?.code) && !reason(error).includes("client error (Connect)");

export class Exchange {
  // `done(failure, status, retryAfter, text, error)` is called once, unless the exchange is aborted first. `send` is a `fetch` other
  // than the host's.
  constructor(send, url, headers, body, bodyLimit, timeoutMs, done) {
    this.done = done;
    this.controller = new AbortController();
    this.timer = setTimeout(() => {
      this.end(TIMED_OUT, 0, undefined, "");
      this.controller.abort();
    }, timeoutMs);
    const { signal } = this.controller;
    this.run(send ?? fetch, url, { method: "POST", redirect: "manual", headers, body, signal }, bodyLimit);
  }

  abort() {
    this.done = undefined;
    clearTimeout(this.timer);
    this.controller.abort();
  }

  end(failure, status, retryAfter, text, error) {
    const { done } = this;
    this.done = undefined;
    clearTimeout(this.timer);
    done?.(failure, status, retryAfter, text, error);
  }

  async run(send, url, init, bodyLimit) {
    let response;
    try {
      response = await send(url, init);
    } catch (error) {
      return this.end(wasSent(error) ? NO_RESPONSE : NOT_SENT, 0, undefined, reason(error), error);
    }
    return this.take(response, bodyLimit);
  }

  async take(response, bodyLimit) {
    const { status, headers } = response;
    const retryAfter = headers.get("retry-after") ?? undefined;
    // A browser shows a redirect as status 0. Its body is of no use to anybody.
    if (status === 0 || (status >= 300 && status < 400)) return this.end(ANSWERED, status, retryAfter, "");
    let text;
    try {
      text = await read(response, bodyLimit);
    } catch (error) {
      return this.end(BROKE_OFF, status, retryAfter, reason(error), error);
    }
    return this.end(text === undefined ? TOO_LARGE : ANSWERED, status, retryAfter, text ?? "");
  }
}

// A response that goes on: `hear` is called with each piece of its body as it comes.
export class Stream extends Exchange {
  constructor(send, url, headers, body, timeoutMs, hear, done) {
    super(send, url, headers, body || undefined, 0, timeoutMs, done);
    this.hear = hear;
  }

  // To end a stream costs as much as a request, and nobody waits for it: whoever has heard its turn goes on first.
  abort() {
    this.hear = undefined;
    this.done = undefined;
    setTimeout(() => super.abort());
  }

  async take({ status, body }) {
    try {
      // Leaving the loop, as by an abort, cancels the body.
      if (status === 200) for await (const piece of body ?? []) this.hear?.(piece);
      else await body?.cancel();
    } catch (error) {
      return this.end(BROKE_OFF, status, undefined, reason(error), error);
    }
    return this.end(ANSWERED, status, undefined, "");
  }
}

// The body as text, or nothing if it is longer than `limit` bytes; then the rest is not read.
async function read(response, limit) {
  const { headers, body } = response;
  const length = headers.get("content-length");
  // The length is that of what follows only if nothing unpacks it.
  if (length !== null && headers.get("content-encoding") === null) {
    if (Number(length) <= limit) return response.text();
    await body?.cancel();
    return undefined;
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

// The message of an error, and of what caused it; never a value that could hold anything.
function reason(error) {
  const messages = [];
  for (let cause = error; cause instanceof Error && messages.length < 3; cause = cause.cause) messages.push(cause.message);
  return messages.join(": ") || "the host says no more";
}
