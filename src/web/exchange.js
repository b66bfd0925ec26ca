// One HTTP exchange, done by the host in one go: each step of it that Rust would take costs a crossing and two closures.
export class Exchange {
  constructor(url, headers, body, bodyLimit) {
    this.controller = new AbortController();
    const { signal } = this.controller;
    this.answer = exchange(url, { method: "POST", redirect: "manual", headers, body, signal }, bodyLimit);
  }

  abort() {
    this.controller.abort();
  }
}

// Never rejects: what fails is `{ failure, message }`.
async function exchange(url, init, bodyLimit) {
  let response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    return { failure: "no response", message: reason(error) };
  }
  const { status, headers } = response;
  const retryAfter = headers.get("retry-after") ?? undefined;
  // A browser shows a redirect as status 0. Its body is of no use to anybody.
  if (status === 0 || (status >= 300 && status < 400)) return { status, retryAfter, body: "" };
  try {
    const body = await read(response, bodyLimit);
    return body === undefined ? { failure: "too large" } : { status, retryAfter, body };
  } catch (error) {
    return { failure: "broke off", message: reason(error) };
  }
}

// The body as text, or nothing if it is longer than `limit` bytes; then the rest is not read.
async function read(response, limit) {
  const length = response.headers.get("content-length");
  // The length is that of what follows only if nothing unpacks it.
  if (length !== null && response.headers.get("content-encoding") === null) {
    if (Number(length) <= limit) return response.text();
    await response.body?.cancel();
    return undefined;
  }
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of response.body ?? []) {
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
