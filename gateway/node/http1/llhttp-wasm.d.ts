// Types that Node's TypeScript libraries lack: WebAssembly
// (https://webassembly.github.io/spec/js-api/) and undici's file.

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, (...values: number[]) => unknown>>);
    readonly exports: object;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}

declare module "undici/lib/llhttp/llhttp-wasm.js" {
  const program: Buffer;
  export default program;
}
