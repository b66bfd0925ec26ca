// A handler of requests that is executed once for each key, however often they are sent.
import { callable, type Names, options as known } from "./check.js";
import type { Client } from "./client.js";
import { FingerprintMismatchError, HeldError, ResultError } from "./errors.js";
import { invalidArgument } from "./make-error.js";
import type { Once, OnceOptions } from "./once.js";

/** A handler as in Workers, Deno and Bun: it gets a request, and whatever its host adds. */
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | PromiseLike<Response>;

/** How a handler is executed once. */
export interface IdempotentOptions<Rest extends unknown[]> extends Omit<OnceOptions, "fingerprint" | "signal"> {
  /**
   * The client, or a function that makes one of the handler's arguments, such as a Worker's `env`.
   */
  readonly client: Client | ((request: Request, ...rest: Rest) => Client);
  /**
   * The key of a request, such as its header `Idempotency-Key`, or the id of an event. It should
   * say whose it is and what for, since all who share a Redis and a prefix share keys. A request
   * whose key is `null` goes straight to the handler.
   */
  readonly key: (request: Request, ...rest: Rest) => string | null | PromiseLike<string | null>;
  /**
   * A digest of the request, as `fingerprint` of {@link OnceOptions}. To read the body, `clone` it.
   */
  readonly fingerprint?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
  /**
   * Is told of a response that is larger than `maxBytes`. The response is given nevertheless, since
   * the handler has done its work, but it is not kept: a repeat runs the handler again. If this
   * throws, its error takes the place of the response.
   */
  readonly onNotKept?: ((error: ResultError, request: Request, ...rest: Rest) => void | PromiseLike<void>) | undefined;
}

const NAMES: Names<IdempotentOptions<[]>> = { client: 1, key: 1, fingerprint: 1, onNotKept: 1, keep: 1, maxBytes: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1 };

/** What is kept of a response. */
interface Kept {
  readonly status: number;
  readonly type: string | null;
  /** Those besides the type. An earlier version kept none. */
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>;
  readonly body: string;
  /** The body is no text, and stands here in base64. */
  readonly isBinary?: true;
}

/**
 * What belongs to one message or one caller: the headers of RFC 9110 for a connection, cookies, and
 * what tells when and by which way a response came.
 */
const NOT_KEPT = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-type|set-cookie2?|date|age|via|alt-svc|server-timing)$/;

/**
 * `handler`, executed once for each key. The status, the headers and the body of its response are
 * kept. A repeat gets them, with the header `idempotent-replayed: true`. A request that comes while
 * the first is handled waits for its response.
 *
 * These headers are not kept, since they belong to one message or to one caller: `Set-Cookie`,
 * `Date`, `Age`, `Via`, `Alt-Svc`, `Server-Timing`, `Content-Length`, and those for a connection,
 * as `Connection`, `Transfer-Encoding` and `Proxy-Authenticate`. A CORS header is kept as it is, so
 * a repeat from another origin gets that of the first.
 *
 * A response of 500 or more is a failure, and so is an error of the handler: it is passed on, and
 * not kept. A response that is too large to be kept is passed on too, and `onNotKept` is told. If
 * another request is handled for longer than `wait`, the response is a 409 with `Retry-After`. If
 * the key came with another fingerprint before, it is a 422. Any other error of {@link Once.run} is
 * thrown.
 */
export function idempotent<Rest extends unknown[]>(handler: Handler<Rest>, options: IdempotentOptions<Rest>): (request: Request, ...rest: Rest) => Promise<Response> {
  const { client, key, fingerprint, onNotKept, ...once } = known(options, NAMES, "a handler that is executed once");
  for (const [name, value] of Object.entries({ handler, key })) if (callable(value, name) === undefined) throw invalidArgument(`${name} is a function`);
  callable(fingerprint, "fingerprint");
  callable(onNotKept, "onNotKept");
  return async (request, ...rest) => {
    const wanted = await key(request, ...rest);
    if (wanted === null) return handler(request, ...rest);
    const print = fingerprint && (await fingerprint(request, ...rest));
    const of = typeof client === "function" ? client(request, ...rest) : client;
    const keeps = of.once(wanted, { ...once, fingerprint: print });
    let own: Response | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      const { value, replayed } = await keeps.run(async () => {
        try {
          own = await handler(request, ...rest);
        } catch (error) {
          failure = { error };
          throw error;
        }
        // That of `Response.error()` is 0: nobody could give it again.
        if (own.status >= 500 || own.status < 200) throw FAILED;
        return kept(own.clone());
      });
      return replayed || own === undefined ? replay(value, keeps) : own;
    } catch (error) {
      // The handler may lock things itself: what it throws is not ours to answer.
      if (failure) throw failure.error;
      if (error === FAILED && own) return own;
      if (error instanceof ResultError && error.code === "result_too_large" && own) {
        await onNotKept?.(error, request, ...rest);
        return own;
      }
      if (error instanceof HeldError) return refused(409, "this request is being handled", { "retry-after": `${Math.ceil(error.retryAfter / 1_000)}` });
      if (error instanceof FingerprintMismatchError) return refused(422, "this key was used for another request");
      throw error;
    }
  };
}

/** Ends the work of a handler whose response is not kept. */
const FAILED: unknown = Object.freeze({});

async function kept(response: Response): Promise<Kept> {
  const bytes = await read(response);
  const headers: Array<[name: string, value: string]> = [];
  response.headers.forEach((value, name) => void (NOT_KEPT.test(name) || headers.push([name, value])));
  const head = { status: response.status, type: response.headers.get("content-type"), headers };
  try {
    return { ...head, body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { ...head, body: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")), isBinary: true };
  }
}

/** No `maxBytes` may be larger. */
const MOST_BYTES = 256 * 1024;

/** The body, or, of one that is too large to be kept, more than may be kept: it need not end. */
async function read({ body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  while (reader && length <= MOST_BYTES) {
    const { done, value } = await reader.read();
    if (done) break;
    // Not by `instanceof`: it may be of another realm.
    if (!ArrayBuffer.isView(value)) throw new TypeError("a piece of the response's body is no Uint8Array");
    parts.push(value);
    length += value.byteLength;
  }
  // Whoever reads the response is told if its source fails.
  if (length > MOST_BYTES) reader?.cancel().catch(() => {});
  const bytes = new Uint8Array(length);
  for (let at = 0; parts.length > 0; ) {
    const part = parts.shift()!;
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** These statuses have no body, not even an empty one. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/** The response that is kept. Another program, or a plain `once`, can have stored anything. */
function replay(value: unknown, once: Once): Response {
  try {
    if (isKept(value)) return again(value);
  } catch (error) {
    throw once.unreadable(NO_RESPONSE, error);
  }
  throw once.unreadable(NO_RESPONSE);
}

const NO_RESPONSE = "what is kept is no response, so something else stored it";

function isKept(value: unknown): value is Kept {
  const { status, type, headers = [], body }: Partial<Record<keyof Kept, unknown>> = Object(value);
  const isStatus = typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599;
  return isStatus && (type === null || typeof type === "string") && Array.isArray(headers) && typeof body === "string";
}

function again({ status, type, headers: kept = [], body, isBinary }: Kept): Response {
  const headers = new Headers(kept.map(([name, value]): [string, string] => [name, value]));
  headers.set("idempotent-replayed", "true");
  if (type !== null) headers.set("content-type", type);
  const bytes = isBinary ? Uint8Array.from(atob(body), (char) => char.charCodeAt(0)) : new TextEncoder().encode(body);
  return new Response(WITHOUT_BODY.includes(status) ? null : bytes, { status, headers });
}

function refused(status: number, error: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error }), { status, headers: { "content-type": "application/json", ...headers } });
}
