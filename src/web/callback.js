// Sources that call back into Rust at most once. A promise lives for as long as its maker likes,
// and so does what it refers to. So a source that is dropped keeps nothing of Rust's.
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

// A timer. Hosts represent timers differently, so it stays here.
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

// Calls back when `promise` is settled, either way.
export function afterPromise(promise, done) {
  const source = new Source(done);
  const tell = () => source.tell();
  promise.then(tell, tell);
  return source;
}

class Abort extends Source {
  constructor(signal, done) {
    super(done);
    this.signal = signal;
    this.listener = () => this.tell();
    signal.addEventListener("abort", this.listener, { once: true });
  }

  drop() {
    super.drop();
    this.signal.removeEventListener("abort", this.listener);
  }
}

// Calls back when `signal` is aborted, or soon if it was.
export function afterAbort(signal, done) {
  return signal.aborted ? afterPromise(Promise.resolve(), done) : new Abort(signal, done);
}
