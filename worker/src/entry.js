// The Worker's entry. It asks the host here for all that a request needs. Each access to a request
// makes an object or copies text, and so does each call across the border to wasm. With thousands
// of orders a second that is most of an order's cost.
//
// An answer belongs to the request in whose callback it is made. So nothing of a request is left to
// a queue that all requests share.
import { __wbg_reset_state, answer, draw, wants_body, without_body } from "edgelock-worker-glue";

const BODY_LIMIT = 16 * 1024;

/** After a trap, nobody knows the state of the wasm. So the next request gets a new instance. */
let isBroken = false;

function notice(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    console.error("Critical", error);
    isBroken = true;
  }
}

addEventListener("error", ({ error }) => notice(error));

function guarded(call) {
  if (isBroken) __wbg_reset_state();
  isBroken = false;
  try {
    return call();
  } catch (error) {
    notice(error);
    throw error;
  }
}

/** The body's bytes; `undefined` if there are too many, and then the rest is not read. */
async function read(request, length) {
  if (length !== null) return Number(length) <= BODY_LIMIT ? new Uint8Array(await request.arrayBuffer()) : undefined;
  const parts = [];
  let bytes = 0;
  // Leaving the loop cancels the body.
  for await (const part of request.body ?? []) {
    bytes += part.byteLength;
    if (bytes > BODY_LIMIT) return undefined;
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function answerTo(request, env, context) {
  const { method, url, headers } = request;
  const authorization = headers.get("authorization") ?? undefined;
  let body;
  if (guarded(() => wants_body(method, url, authorization, env))) {
    try {
      body = await read(request, headers.get("content-length"));
    } catch {
      return guarded(() => without_body());
    }
    if (body === undefined) return guarded(() => without_body(BODY_LIMIT));
  }
  return guarded(() => answer(method, url, authorization, body, env, context, request));
}

export default {
  async fetch(request, env, context) {
    const { text, init } = await answerTo(request, env, context);
    return new Response(text, init);
  },

  scheduled: (event, env, context) => guarded(() => draw(event.scheduledTime, env, context)),
};
