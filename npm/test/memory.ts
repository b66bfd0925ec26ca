// The memory of the wasm module. The package does not show it, so it is taken where the package
// gets it from.
const memories: WebAssembly.Memory[] = [];
const { Instance } = WebAssembly;

WebAssembly.Instance = class extends Instance {
  constructor(module: WebAssembly.Module, imports?: WebAssembly.Imports) {
    super(module, imports);
    const { memory } = this.exports;
    if (memory) memories.push(memory as WebAssembly.Memory);
  }
};

/** How many bytes it has. It never gets smaller. */
export const wasmBytes = (): number => memories.reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0);
