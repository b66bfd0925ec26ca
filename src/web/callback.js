// Sources that call `tell` with a number, at most once. Each returns what stops it. A promise lives
// for as long as its maker likes, and so does what follows it, which keeps nothing of Rust's.

// Hosts represent timers differently, so it stays here.
export function after(ms, tell, number) {
  const timer = setTimeout(tell, ms, number);
  return () => clearTimeout(timer);
}

// Calls back when `promise` is settled, either way.
export function afterPromise(promise, tell, number) {
  const told = () => tell(number);
  promise.then(told, told);
  return () => {};
}

// Calls back when `signal` is aborted, or soon if it was.
export function afterAbort(signal, tell, number) {
  if (signal.aborted) return afterPromise(Promise.resolve(), tell, number);
  const told = () => tell(number);
  signal.addEventListener("abort", told, { once: true });
  return () => signal.removeEventListener("abort", told);
}
