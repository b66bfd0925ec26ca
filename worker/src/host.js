// An answer on its way from Rust: entry.js makes the response of it.

/** `headers` are names and values in turn. Without `text` it has no body. */
export function parts(status, text, contentType, headers) {
  // Stock and locks change at any time, and a lock's token is nobody else's business.
  const pairs = [
    ["content-type", contentType],
    ["cache-control", "no-store"],
  ];
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at], headers[at + 1]]);
  return { text, init: { status, headers: pairs } };
}
