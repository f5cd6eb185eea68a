/** JSON Schema, draft 2020-12, as OpenAPI 3.1 has it. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/**
 * What callers send, or what they are answered. They differ: whoever reads proto3 JSON takes more than whoever writes it
 * puts out, `5` and `"5"` for a number, and null for what is not there.
 */
export type Direction = "input" | "output";
