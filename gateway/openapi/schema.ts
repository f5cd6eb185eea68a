/** A JSON Schema, draft 2020-12, which OpenAPI 3.1 uses; also any other object of a document. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/**
 * Whether a schema describes what callers send or what they are answered. A reader of proto3 JSON accepts more than a writer
 * writes: `5` and `"5"` for a number, and null for a field that is not set.
 */
export type Direction = "input" | "output";
