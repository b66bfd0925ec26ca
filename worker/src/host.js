// What Rust asks of the host: an answer that entry.js turns into a response, and whether the caller
// still waits for it.

/** `headers` are names and values in turn. Without `text` it has no body. */
export function parts(status, text, contentType, headers) {
  // Stock and locks change at any time, and a lock's token is secret.
  const pairs = [
    ["content-type", contentType],
    ["cache-control", "no-store"],
  ];
  for (let at = 0; at < headers.length; at += 2) pairs.push([headers[at], headers[at + 1]]);
  return { text, init: { status, headers: pairs } };
}

/** Is settled once whoever sent the request has hung up. */
export function gone({ signal }) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", resolve, { once: true });
  });
}
