// What calls back into Rust at most once. Dropped before that, it keeps nothing of Rust's: a promise lives for as long as whoever
// made it pleases, and so does what was given to it.
class Source {
  constructor(done) {
    this.done = done;
  }

  tell() {
    const { done } = this;
    this.done = undefined;
    done?.();
  }

  drop() {
    this.done = undefined;
  }
}

// A timer. What hosts call one differs, so it stays here.
class Timer extends Source {
  constructor(ms, done) {
    super(done);
    this.id = setTimeout(() => this.tell(), ms);
  }

  drop() {
    super.drop();
    clearTimeout(this.id);
  }
}

export function after(ms, done) {
  return new Timer(ms, done);
}

// When `promise` is settled, either way.
export function afterPromise(promise, done) {
  const source = new Source(done);
  const tell = () => source.tell();
  promise.then(tell, tell);
  return source;
}

// A promise and what settles it. workerd has what follows a promise go on in the request that made it, whoever settles it; but not if
// the promise is made by `new Promise` in code that V8 has optimised, which leaves out whose it is.
export function deferred() {
  if (typeof Promise.withResolvers === "function") return Promise.withResolvers();
  const deferred = {};
  deferred.promise = new Promise((resolve) => (deferred.resolve = resolve));
  return deferred;
}
