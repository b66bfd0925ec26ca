// What each request needs of the host, in one crossing each way.

/** The body's bytes; nothing if there are more than `limit`, and then the rest is not read. */
export async function body(request, limit) {
  const { headers, body } = request;
  if (body === null) return new Uint8Array();
  const length = headers.get("content-length");
  if (length !== null) {
    return Number(length) <= limit ? new Uint8Array(await request.arrayBuffer()) : undefined;
  }
  const parts = [];
  let bytes = 0;
  // Leaving the loop cancels the body.
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > limit) return undefined;
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** `headers` are names and values in turn. Without `text` it has no body. */
export function response(status, text, headers) {
  const pairs = [];
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at], headers[at + 1]]);
  return new Response(text, { status, headers: pairs });
}
