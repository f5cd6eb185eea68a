/**
 * llhttp, the parser of node:http (https://github.com/nodejs/llhttp), in the WebAssembly that the package undici carries. One
 * instance serves all connections: of each request in progress it holds some 80 bytes. scripts/build.mjs checks the file's hash.
 */
import { setFlagsFromString } from "node:v8";
import program from "undici/lib/llhttp/llhttp-wasm.js";

/** llhttp's functions that are used here (llhttp.h); `parser` is the address of a parser's state. */
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

/** What llhttp has found, by address and length in its memory; a span may come in several pieces. Anything but 0 stops it. */
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

/** llhttp_type_t */
const REQUEST = 1;

/** Most bytes that are given to the parser at once. */
export const MAX_INPUT = 64 * 1024;

// V8 would compile the parser a second time while calls come in. That takes 30 MiB for a moment, and calls are not faster then.
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

  /** The state of a new request, to be given back by `release`. */
  acquire(): number {
    const parser = this.#free.pop() ?? this.llhttp.llhttp_alloc(REQUEST);
    this.llhttp.llhttp_reset(parser);
    return parser;
  }

  release(parser: number): void {
    this.#free.push(parser);
  }

  /** Parses bytes of a chunk. @returns the result of `llhttp_execute` */
  execute(parser: number, chunk: Buffer, from: number, to: number): number {
    // A memory that has grown is another one.
    if (this.#view.length === 0) this.#view = Buffer.from(this.llhttp.memory.buffer, this.input, MAX_INPUT);
    chunk.copy(this.#view, 0, from, to);
    return this.llhttp.llhttp_execute(parser, this.input, to - from);
  }

  /** The name of a method by llhttp's number. */
  method(number: number): string {
    this.#methods[number] ??= this.#text(this.llhttp.llhttp_method_name(number));
    return this.#methods[number] as string;
  }

  /** Why bytes were refused; "" where llhttp does not say. */
  reason(parser: number): string {
    return this.#text(this.llhttp.llhttp_get_error_reason(parser));
  }

  /** A text that ends with a zero byte. */
  #text(address: number): string {
    const memory = Buffer.from(this.llhttp.memory.buffer);
    return address === 0 ? "" : memory.toString("latin1", address, memory.indexOf(0, address));
  }
}
