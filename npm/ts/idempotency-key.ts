// The header `Idempotency-Key`, after the IETF's draft-ietf-httpapi-idempotency-key-header-07.

/** What comes of a header that no key may have. */
export const INVALID = "";

/** The key in the header: a string of RFC 8941, or one without quotes. `null` if there is none. */
export function keyOf({ headers }: Request): string | null {
  const header = headers.get("idempotency-key");
  if (header === null) return null;
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  // Braces have a meaning in a name.
  const key = (quoted ?? (/^[!#-~]+$/.test(header) ? header : INVALID)).replace(/[%{}]/g, encodeURIComponent);
  return key.length > 255 ? INVALID : key;
}

/** A digest of what is asked for. */
export async function digest(request: Request): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const body = await request.clone().arrayBuffer();
  const asked = await new Blob([`${request.method} ${pathname}${search}\n`, body]).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(await crypto.subtle.digest("SHA-256", asked))));
}

/** A response that says what is wrong, as RFC 9457 has it. */
export function problem(status: number, title: string, detail: string, headers: Record<string, string> = {}): Response {
  const type = "application/problem+json";
  return new Response(JSON.stringify({ title, status, detail }), { status, headers: { "content-type": type, ...headers } });
}
