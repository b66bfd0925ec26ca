// A handler of requests that is executed once for each key, however often they are sent.
import { callable, type Names, options as known } from "./check.js";
import type { Client } from "./client.js";
import { FingerprintMismatchError, HeldError, invalidArgument } from "./errors.js";
import type { OnceOptions } from "./once.js";

/** What a handler as those of Workers, Deno and Bun is called with: a request, and whatever its host adds. */
export type Handler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | PromiseLike<Response>;

/** How a handler is executed once. */
export interface IdempotentOptions<Rest extends unknown[]> extends Omit<OnceOptions, "fingerprint" | "signal"> {
  /** Where results are kept; or what makes the client of what the handler is called with, as of a Worker's `env`. */
  readonly client: Client | ((request: Request, ...rest: Rest) => Client);
  /**
   * The key of a request: as the header `Idempotency-Key`, or the id of an event. It should say whose it is and what for, since a key
   * is one for all that are behind the same Redis and prefix. A request without one, `null`, is handled as if there were none of this.
   */
  readonly key: (request: Request, ...rest: Rest) => string | null | PromiseLike<string | null>;
  /** What tells a request from another with the same key, as `fingerprint` of {@link OnceOptions}. To read the body, `clone` the request. */
  readonly fingerprint?: ((request: Request, ...rest: Rest) => string | PromiseLike<string>) | undefined;
}

const NAMES: Names<IdempotentOptions<[]>> = { client: 1, key: 1, fingerprint: 1, keep: 1, maxBytes: 1, ttl: 1, wait: 1, maxRequests: 1, maxHold: 1 };

/** What is kept of a response. */
interface Kept {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
  /** The body is no text, and stands here in base64. */
  readonly isBinary?: true;
}

/**
 * `handler`, executed once for each key: its response is kept, by status, content type and body, and given to whoever sends the same again,
 * with the header `idempotent-replayed: true`. Who sends it meanwhile waits for it.
 *
 * A response of 500 and more is a failure, and so is what the handler throws: it is passed on, and not kept. Where another is at it for
 * longer than `wait`, the response is 409 with `Retry-After`; where the key came with something else before, 422. Any other error of
 * {@link Once.run} is thrown.
 */
export function idempotent<Rest extends unknown[]>(handler: Handler<Rest>, options: IdempotentOptions<Rest>): (request: Request, ...rest: Rest) => Promise<Response> {
  const { client, key, fingerprint, ...once } = known(options, NAMES, "a handler that is executed once");
  for (const [name, value] of Object.entries({ handler, key })) if (callable(value, name) === undefined) throw invalidArgument(`${name} is a function`);
  callable(fingerprint, "fingerprint");
  return async (request, ...rest) => {
    const wanted = await key(request, ...rest);
    if (wanted === null) return handler(request, ...rest);
    const print = fingerprint && (await fingerprint(request, ...rest));
    const of = typeof client === "function" ? client(request, ...rest) : client;
    const keeps = of.once(wanted, { ...once, fingerprint: print });
    let own: Response | undefined;
    try {
      const { value, replayed } = await keeps.run(async () => {
        own = await handler(request, ...rest);
        if (own.status >= 500) throw FAILED;
        return kept(own.clone());
      });
      return replayed || own === undefined ? replay(value) : own;
    } catch (error) {
      if (error === FAILED && own) return own;
      if (error instanceof HeldError) return refused(409, "this request is being handled", { "retry-after": `${Math.ceil(error.retryAfter / 1_000)}` });
      if (error instanceof FingerprintMismatchError) return refused(422, "this key was used for another request");
      throw error;
    }
  };
}

/** Ends the work of a handler whose response is not kept. */
const FAILED: unknown = Object.freeze({});

async function kept(response: Response): Promise<Kept> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const head = { status: response.status, type: response.headers.get("content-type") };
  try {
    return { ...head, body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { ...head, body: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")), isBinary: true };
  }
}

/** These statuses have no body, not even an empty one. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

function replay({ status, type, body, isBinary }: Kept): Response {
  const headers = new Headers({ "idempotent-replayed": "true" });
  if (type !== null) headers.set("content-type", type);
  const bytes = isBinary ? Uint8Array.from(atob(body), (char) => char.charCodeAt(0)) : new TextEncoder().encode(body);
  return new Response(WITHOUT_BODY.includes(status) ? null : bytes, { status, headers });
}

function refused(status: number, error: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error }), { status, headers: { "content-type": "application/json", ...headers } });
}
