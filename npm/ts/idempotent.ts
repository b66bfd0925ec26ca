// A handler of requests that is executed once for each key, however often they are sent.
import { callable, flag, given, type Names, options as known, text } from "./check.js";
import type { Client } from "./client.js";
import { isOurs, type ResultError, type TimedOutError, type UnavailableError } from "./errors.js";
import { invalidArgument } from "./make-error.js";
import type { Lease } from "./lease.js";
import { MOST_BYTES, type Once, type OnceOptions } from "./once.js";

/** A handler as in Workers, Deno and Bun: it gets a request, and whatever its host adds. */
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | PromiseLike<Response>;

/** How a handler is executed once. */
export interface IdempotentOptions<Rest extends unknown[]> extends Omit<OnceOptions, "fingerprint" | "signal"> {
  /**
   * The client, or a function that makes one of the handler's arguments, such as a Worker's `env`.
   */
  readonly client: Client | ((request: Request, ...rest: Rest) => Client);
  /**
   * The key of a request, such as the id of an event. All who share a Redis and a prefix share
   * keys, so it should say whose it is and what for. A request whose key is `null` goes straight to
   * the handler.
   *
   * Default: the header `Idempotency-Key`, as the IETF's draft has it, with quotes or without. A
   * key with other characters than visible ASCII, or more than 255, is answered with a 400.
   */
  readonly key?: ((request: Request, ...rest: Rest) => string | null | PromiseLike<string | null>) | undefined;
  /**
   * Whose keys they are, such as the account's id; not an empty string. Without it two accounts
   * share the responses of a key and a request.
   */
  readonly scope?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
  /** Whether a POST or a PATCH without a key is answered with a 400. Default `false`. */
  readonly required?: boolean | undefined;
  /**
   * A digest of the request, as `fingerprint` of {@link OnceOptions}. To read the body, `clone` it.
   * Default: without a `key` of yours, one of the method, the path, the query and the body.
   */
  readonly fingerprint?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
  /**
   * Whether a response with a status below 500 is kept; if not, a repeat runs the handler again.
   * Default: all but 401, 403, 408, 409, 423, 425 and 429. Those say that the same request may
   * succeed later; a 402, a card that was declined, is an outcome. To read the body, `clone` the
   * response.
   */
  readonly keepIf?: ((response: Response, request: Request, ...rest: Rest) => boolean | PromiseLike<boolean>) | undefined;
  /**
   * Called for a response that is larger than `maxBytes`; with `ifUnavailable: "run"`, also for one
   * that could not be stored. The caller gets the response, but a repeat runs the handler again. If
   * this throws, its error takes the place of the response.
   */
  readonly onNotKept?: ((error: ResultError | UnavailableError | TimedOutError, request: Request, ...rest: Rest) => void | PromiseLike<void>) | undefined;
}

const NAMES: Names<IdempotentOptions<[]>> = { client: 1, key: 1, scope: 1, required: 1, fingerprint: 1, keepIf: 1, onNotKept: 1, ifUnavailable: 1, keep: 1, maxBytes: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1 };

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
const OF_ONE_MESSAGE = /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-type|set-cookie2?|date|age|via|alt-svc|server-timing)$/;

/**
 * `handler`, executed once for each key. The status, the headers and the body of its response are
 * kept. A repeat gets them, with the header `idempotent-replayed: true`. A request that comes while
 * the first is handled waits for its response.
 *
 * Headers that belong to one message or to one caller are not kept: `Set-Cookie`, `Date`, `Age`,
 * `Via`, `Alt-Svc`, `Server-Timing`, `Content-Length`, and those for a connection, as
 * `Transfer-Encoding`. A CORS header is kept, so a repeat from another origin gets the first
 * origin's.
 *
 * A response of 500 or more is a failure, and so is an error of the handler: it is passed on, and
 * not kept. A response that is kept is given once its body has ended: have `keepIf` refuse streams
 * that stay open.
 *
 * If another request is handled for longer than `wait`, the response is a 409 with `Retry-After`.
 * If the key came with another fingerprint before, it is a 422. These bodies, and those of a 400,
 * are `application/problem+json`. Any other error of {@link Once.run} is thrown.
 */
export function idempotent<Rest extends unknown[]>(handler: Handler<Rest>, options: IdempotentOptions<Rest>): (request: Request, ...rest: Rest) => Promise<Response> {
  const { client, key = keyOf, scope, required, keepIf = isOutcome, onNotKept, ...others } = known(options, NAMES, "a handler that is executed once");
  const { fingerprint = options.key ? undefined : digest, ...once } = others;
  if (callable(handler, "handler") === undefined) throw invalidArgument("handler is a function");
  for (const [name, value] of Object.entries({ key, scope, fingerprint, keepIf, onNotKept })) callable(value, name);
  flag(required, "required");
  if (typeof client !== "function") checkClient(client);
  return async (request, ...rest) => {
    const named = await key(request, ...rest);
    if (named === INVALID) return problem(400, "Idempotency-Key is invalid", "It is a string of 1 to 255 visible characters of ASCII.");
    if (named === null) {
      if (!required || !/^(POST|PATCH)$/i.test(request.method)) return handler(request, ...rest);
      return problem(400, "Idempotency-Key is missing", "This operation needs one, so that it can be repeated: a new one for each operation, the same for its repeats.");
    }
    text(named, "a key");
    const whose = scope && text(await scope(request, ...rest), "a scope");
    if (whose === "") throw invalidArgument("a scope is a string that is not empty");
    const wanted = whose === undefined ? named : `${encodeURIComponent(whose)}:${named}`;
    const print = fingerprint && text(await fingerprint(request, ...rest), "a fingerprint");
    const of = typeof client === "function" ? checkClient(client(request, ...rest)) : client;
    const keeps = of.once(wanted, { ...once, fingerprint: print } as OnceOptions & { ifUnavailable: "run" });
    let own: Response | undefined;
    let failure: { readonly error: unknown } | undefined;
    let why: Parameters<NonNullable<typeof onNotKept>>[0] | undefined;
    try {
      const { value, replayed, notKept } = await keeps.run(async () => {
        try {
          own = await handler(request, ...rest);
          // That of `Response.error()` is 0: nobody could give it again.
          if (own.status < 500 && own.status >= 200 && (await keepIf(own, request, ...rest))) return await kept(own.clone());
        } catch (error) {
          failure = { error };
          throw error;
        }
        throw NOT_KEPT;
      });
      if (replayed || own === undefined) return replay(value, keeps);
      why = notKept;
    } catch (error) {
      // The handler may lock things itself: what it throws is not ours to answer.
      if (failure) throw failure.error;
      if (error === NOT_KEPT && own) return own;
      if (!isOurs(error)) throw error;
      if (error.code === "held") return problem(409, "A request with this Idempotency-Key is being handled", "Repeat it later.", { "retry-after": `${Math.ceil(error.retryAfter / 1_000)}` });
      if (error.code === "fingerprint_mismatch") return problem(422, "Idempotency-Key is already used", "It came with another request. Each operation has a key of its own.");
      if (error.code !== "result_too_large" || own === undefined) throw error;
      why = error;
    }
    // Not above: what it throws is not about this key.
    if (why) await onNotKept?.(why, request, ...rest);
    return own;
  };
}

/** Not by `instanceof`: a bundle may have the package twice. */
function checkClient(client: Client | undefined): Client {
  if (typeof client?.once === "function") return client;
  throw invalidArgument(`client is a Client, or a function that makes one, not ${given(client)}`);
}

/** Those that are not say: not yet, or not you. */
const isOutcome = ({ status }: Response): boolean => ![401, 403, 408, 409, 423, 425, 429].includes(status);

/** Ends the work of a handler whose response is not kept. */
const NOT_KEPT: unknown = Object.freeze({});

async function kept(response: Response): Promise<Kept> {
  const bytes = await read(response);
  const headers: Array<[name: string, value: string]> = [];
  response.headers.forEach((value, name) => void (OF_ONE_MESSAGE.test(name) || headers.push([name, value])));
  const head = { status: response.status, type: response.headers.get("content-type"), headers };
  try {
    return { ...head, body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { ...head, body: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")), isBinary: true };
  }
}

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
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

/** These statuses have no body, not even an empty one. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/** The response that is kept. Another program, or a plain `once`, can have stored anything. */
function replay(value: unknown, once: Once<Lease | undefined>): Response {
  let cause;
  try {
    if (isKept(value)) return again(value);
  } catch (error) {
    cause = error;
  }
  throw once.unreadable("what is kept is no response, so something else stored it", cause);
}

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

/** What comes of a header that no key may have. */
const INVALID = "";

/**
 * The key in the header `Idempotency-Key`, as the IETF has it in
 * draft-ietf-httpapi-idempotency-key-header-07: a string of RFC 8941, or one without quotes. `null`
 * if there is none.
 */
function keyOf({ headers }: Request): string | null {
  const header = headers.get("idempotency-key");
  if (header === null) return null;
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  // Braces have a meaning in a name.
  const key = (quoted ?? (/^[!#-~]+$/.test(header) ? header : INVALID)).replace(/[%{}]/g, encodeURIComponent);
  return key.length > 255 ? INVALID : key;
}

/** A digest of what is asked for. */
async function digest(request: Request): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const body = await request.clone().arrayBuffer();
  const asked = await new Blob([`${request.method} ${pathname}${search}\n`, body]).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-256", asked))));
}

/** A response that says what is wrong, as RFC 9457 has it. */
function problem(status: number, title: string, detail: string, headers: Record<string, string> = {}): Response {
  const type = "application/problem+json";
  return new Response(JSON.stringify({ title, status, detail }), { status, headers: { "content-type": type, ...headers } });
}
