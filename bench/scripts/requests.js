// Counts the requests that a script sends: each `fetch`, and each command that a client of Redis
// sends by TCP.
let listener = () => {};

/** Calls `next` for each request from now on, in place of the earlier listener. */
export function onRequest(next) {
  listener = next;
}

/** A request was sent. */
export function sent() {
  listener();
}

const real = globalThis.fetch;
globalThis.fetch = (...args) => (sent(), real(...args));
