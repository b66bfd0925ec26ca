// One HTTP exchange, done by the host at once. In Rust each step would cost a call across the
// border.
const ANSWERED = 0;
const NO_RESPONSE = 1;
const BROKE_OFF = 2;
const TOO_LARGE = 3;
const TIMED_OUT = 4;
const NOT_SENT = 5;

// How hosts say that there was no connection: Node by the code of the cause, Bun by that of the
// error, Deno in words. Others do not say.
const NO_CONNECTION = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT",
  // Who does not trust a certificate sends nothing to its owner.
  "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"];
// A port that `fetch` refuses to use is said so in words.
function wasSent(error) {
  try {
    return !NO_CONNECTION.includes(error?.cause?.code ?? error?.code) && !/client error \(Connect\)|bad port/.test(reason(error));
  } catch {
    // A `send` of the caller's may throw what cannot be looked at.
    return true;
  }
}

export class Exchange {
  // `done(failure, status, header, text, error)` is called once, unless the exchange is aborted
  // first, and never before this returns. `send` replaces the host's `fetch`, and may do anything.
  // `header` is the one that matters at that status: `x-edgelock-bridge` at 200, else
  // `retry-after`.
  constructor(send, url, headers, body, bodyLimit, timeoutMs, done) {
    this.done = done;
    this.run(send, url, headers, body, bodyLimit, timeoutMs);
  }

  abort() {
    this.done = undefined;
    clearTimeout(this.timer);
    this.controller?.abort();
  }

  end(failure, status, header, text, error) {
    const { done } = this;
    this.done = undefined;
    clearTimeout(this.timer);
    done?.(failure, status, header, text, error);
  }

  async run(send, url, headers, body, bodyLimit, timeoutMs) {
    let answer;
    let isAsked = false;
    try {
      // Jest's jsdom has none.
      const ask = send ?? globalThis.fetch;
      if (ask === undefined) throw new TypeError("this host has no fetch");
      this.controller = new AbortController();
      this.timer = setTimeout(() => {
        this.end(TIMED_OUT, 0, undefined, "");
        this.controller.abort();
      }, timeoutMs);
      const { signal } = this.controller;
      isAsked = true;
      answer = begun(await ask(url, { method: "POST", redirect: "manual", headers, body, signal }));
    } catch (error) {
      // Waits, in case `send` threw at once: Rust is still in the call that sends, and maybe inside
      // of `done`.
      await undefined;
      return this.end(isAsked && wasSent(error) ? NO_RESPONSE : NOT_SENT, 0, undefined, reason(error), error);
    }
    return this.take(answer, bodyLimit);
  }

  async take({ response, status, header }, bodyLimit) {
    let text;
    try {
      // A browser shows a redirect as status 0. Nobody needs its body.
      const isRedirect = status === 0 || (status >= 300 && status < 400);
      text = isRedirect ? discard(response.body) : await read(response, bodyLimit);
    } catch (error) {
      return this.end(BROKE_OFF, status, header, reason(error), error);
    }
    return this.end(text === undefined ? TOO_LARGE : ANSWERED, status, header, text ?? "");
  }
}

// A browser opens six connections to a host over HTTP/1.1. Streams leave half of them to requests:
// whoever listens waits for somebody who must be able to answer.
const MOST_OF_A_PAGE = 3;
let open = 0;

// A streamed response: `hear` is called with each piece of its body as it comes. In a page, more
// than a few at a time get a 503.
export class Stream extends Exchange {
  constructor(send, url, headers, body, timeoutMs, hear, done) {
    super(send, url, headers, body || undefined, 0, timeoutMs, done);
    this.hear = hear;
  }

  async run(...request) {
    if (typeof document !== "undefined" && open >= MOST_OF_A_PAGE) {
      await undefined;
      return this.end(ANSWERED, 503, undefined, "");
    }
    open += 1;
    try {
      return await super.run(...request);
    } finally {
      open -= 1;
    }
  }

  // Ending a stream costs as much as a request, and nobody waits for it. So the caller whose turn
  // it is goes on first.
  abort() {
    this.hear = undefined;
    this.done = undefined;
    setTimeout(() => super.abort());
  }

  async take({ response, status, header }) {
    try {
      if (status === 200) await this.hearOut(response.body);
      else discard(response.body);
    } catch (error) {
      return this.end(BROKE_OFF, status, header, reason(error), error);
    }
    return this.end(ANSWERED, status, header, "");
  }

  async hearOut(body) {
    for await (const piece of pieces(body)) {
      if (!ArrayBuffer.isView(piece)) throw new TypeError("a piece of the body is no bytes");
      // Leaving the loop, also by an abort, cancels the body.
      if (this.hear === undefined) return;
      this.hear(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength));
    }
  }
}

// The status and headers, if this is a response.
function begun(response) {
  const { status, headers } = response ?? {};
  if (!Number.isInteger(status) || status < 0 || status > 999 || typeof headers?.get !== "function") {
    throw new TypeError("what `fetch` came to is no response");
  }
  const header = headers.get(status === 200 ? "x-edgelock-bridge" : "retry-after") ?? undefined;
  return { response, status, header: header === undefined ? undefined : String(header) };
}

// The body as text, or nothing if it is longer than `limit` bytes. Then the rest is not read.
async function read(response, limit) {
  const { headers, body } = response;
  const length = headers.get("content-length") ?? undefined;
  // The header is the length of what follows only if nothing decompresses it.
  if (length !== undefined && (headers.get("content-encoding") ?? undefined) === undefined) {
    if (Number(length) <= limit) return whole(await response.text(), limit);
    discard(body);
    return undefined;
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of pieces(body)) {
    bytes += chunk.byteLength;
    if (bytes > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function whole(text, limit) {
  if (typeof text !== "string") throw new TypeError("the text of the body is no text");
  return text.length <= limit ? text : undefined;
}

// The pieces of a body. Safari's streams cannot be iterated.
function pieces(body) {
  const isStream = typeof body?.getReader === "function" && body[Symbol.asyncIterator] === undefined;
  return isStream ? readFrom(body.getReader()) : (body ?? []);
}

async function* readFrom(reader) {
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    discard(reader);
  }
}

// Cancels a body that nobody reads, and returns an empty text in its place.
function discard(body) {
  try {
    body?.cancel?.()?.catch?.(() => {});
  } catch {
    // The exchange is over nevertheless.
  }
  return "";
}

// In Jest, `fetch` is of another realm.
function isError(thrown) {
  return thrown instanceof Error || /^\[object (Error|DOMException)\]$/.test(Object.prototype.toString.call(thrown));
}

// The message of an error, and of its cause; never a value that could hold anything.
export function reason(error) {
  const messages = [];
  try {
    for (let cause = error; isError(cause) && messages.length < 3; cause = cause.cause) messages.push(`${cause.message}`);
  } catch {
    // It has no message that can be read.
  }
  return messages.join(": ") || "the host says no more";
}

// A promise, and the functions that settle it. workerd runs what follows a promise in the request
// that made it, whoever settles it. That fails for a promise by `new Promise` in code that V8 has
// optimised, which loses the request.
export function deferred() {
  if (typeof Promise.withResolvers === "function") return Promise.withResolvers();
  const deferred = {};
  deferred.promise = new Promise((resolve) => (deferred.resolve = resolve));
  return deferred;
}
