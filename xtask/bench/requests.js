// Tells of the requests that a script sends: each `fetch`, and each command that a client of Redis
// sends by TCP.
let listener = () => {};

/** Calls `next` for each request from now on, in place of the one before. */
export function onRequest(next) {
  listener = next;
}

/** One was sent. */
export function sent() {
  listener();
}

const real = globalThis.fetch;
globalThis.fetch = (...args) => (sent(), real(...args));
