// The glue of the table's wasm, as npm/build.js wraps it.
declare module "edgelock-table-glue" {
  export function instantiate(module: WebAssembly.Module, guard: (exports: WebAssembly.Exports) => WebAssembly.Exports): import("./source.js").Raw;
}
declare module "edgelock-table-wasm" {
  const base64: string;
  export default base64;
}
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
