// The entry of a Worker in Rust that `cargo xtask` builds without worker-build, which needs
// OpenSSL. It does the same: after a trap nobody knows the state of the wasm, so the next call gets
// a new one.
import * as worker from "edgelock-worker-glue";

const state = worker.__worker_init_state();

function notice(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return;
  console.error("Critical", error);
  state.criticalError = true;
}

addEventListener("error", ({ error }) => notice(error));

function guarded(name) {
  return async (...event) => {
    if (state.criticalError) {
      worker.__wbg_reset_state();
      state.criticalError = false;
      state.instanceId++;
    }
    try {
      return await worker[name](...event);
    } catch (error) {
      notice(error);
      throw error;
    }
  };
}

export default { fetch: guarded("fetch"), scheduled: guarded("scheduled") };
