/**
 * llhttp, the parser of node:http (https://github.com/nodejs/llhttp), compiled to WebAssembly by
 * the package undici. One instance serves all connections. It uses about 80 bytes for each request
 * in progress. scripts/build.mjs checks the file's hash.
 */
import { setFlagsFromString } from "node:v8";
import program from "undici/lib/llhttp/llhttp-wasm.js";

/**
 * The functions of llhttp that are used here (llhttp.h); `parser` is the address of a parser's
 * state.
 */
interface Llhttp {
  readonly memory: WebAssembly.Memory;
  malloc(bytes: number): number;
  llhttp_alloc(type: number): number;
  llhttp_reset(parser: number): void;
  llhttp_resume(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_get_error_pos(parser: number): number;
  llhttp_get_error_reason(parser: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_get_http_major(parser: number): number;
  llhttp_get_http_minor(parser: number): number;
  llhttp_method_name(method: number): number;
}

/**
 * The parts of a request that llhttp has found, by address and length in its memory. A span may
 * come in several parts. A result other than 0 stops llhttp.
 */
export interface Callbacks {
  onBegin(): void;
  onUrl(at: number, length: number): number;
  onHeaderField(at: number, length: number): number;
  onHeaderValue(at: number, length: number): number;
  onHeadersComplete(parser: number, upgrade: boolean, keepAlive: boolean): number;
  onBody(at: number, length: number): void;
}

/** Results of `llhttp_execute` (llhttp.h, llhttp_errno_t), and of callbacks. */
export const OK = 0;
export const INVALID_VERSION = 9;
export const PAUSED = 21;
export const PAUSED_H2_UPGRADE = 23;
export const USER_ERROR = 24;
/** Result of `onHeadersComplete`: no body follows. */
export const SKIP_BODY = 1;

/** A value of llhttp_type_t. */
const REQUEST = 1;

/** Maximum bytes that the parser gets at once. */
export const MAX_INPUT = 64 * 1024;

// Without this flag V8 compiles the parser a second time while calls come in. That needs 30 MiB for
// a moment, and calls do not become faster.
setFlagsFromString("--liftoff-only");

export class ParserMemory {
  readonly llhttp: Llhttp;
  /** Address of the bytes that are being parsed. */
  readonly input: number;
  #view: Buffer;
  /** States that no request uses. */
  readonly #free: number[] = [];
  readonly #methods: string[] = [];

  constructor(callbacks: Callbacks) {
    const { onBegin, onUrl, onHeaderField, onHeaderValue, onHeadersComplete, onBody } = callbacks;
    const env = {
      wasm_on_message_begin() {
        onBegin();
        return OK;
      },
      wasm_on_url: (_parser: number, at: number, length: number) => onUrl(at, length),
      wasm_on_status: () => OK,
      wasm_on_header_field: (_parser: number, at: number, length: number) => onHeaderField(at, length),
      wasm_on_header_value: (_parser: number, at: number, length: number) => onHeaderValue(at, length),
      wasm_on_headers_complete: (parser: number, _status: number, upgrade: number, keepAlive: number) =>
        onHeadersComplete(parser, upgrade === 1, keepAlive === 1),
      wasm_on_body(_parser: number, at: number, length: number) {
        onBody(at, length);
        return OK;
      },
      wasm_on_message_complete: () => PAUSED,
    };
    const instance = new WebAssembly.Instance(new WebAssembly.Module(program), { env });
    this.llhttp = instance.exports as unknown as Llhttp;
    this.input = this.llhttp.malloc(MAX_INPUT);
    this.#view = Buffer.from(this.llhttp.memory.buffer, this.input, MAX_INPUT);
  }

  /** The state for a new request. The caller must return it by `release`. */
  acquire(): number {
    const parser = this.#free.pop() ?? this.llhttp.llhttp_alloc(REQUEST);
    this.llhttp.llhttp_reset(parser);
    return parser;
  }

  release(parser: number): void {
    this.#free.push(parser);
  }

  /**
   * Parses bytes of a chunk.
   * @returns the result of `llhttp_execute`
   */
  execute(parser: number, chunk: Buffer, from: number, to: number): number {
    // When a WebAssembly memory grows, its old buffer is detached and has the length 0.
    if (this.#view.length === 0) this.#view = Buffer.from(this.llhttp.memory.buffer, this.input, MAX_INPUT);
    chunk.copy(this.#view, 0, from, to);
    return this.llhttp.llhttp_execute(parser, this.input, to - from);
  }

  /** The name of a method by llhttp's number. */
  method(number: number): string {
    this.#methods[number] ??= this.#text(this.llhttp.llhttp_method_name(number));
    return this.#methods[number] as string;
  }

  /** Why bytes were rejected; "" where llhttp gives no reason. */
  reason(parser: number): string {
    return this.#text(this.llhttp.llhttp_get_error_reason(parser));
  }

  /** A text that ends with a zero byte. */
  #text(address: number): string {
    const memory = Buffer.from(this.llhttp.memory.buffer);
    return address === 0 ? "" : memory.toString("latin1", address, memory.indexOf(0, address));
  }
}
