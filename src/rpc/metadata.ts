/**
 * Metadata of a call: pairs of lower-case name and value, in order; a name may repeat. Values of names that end in `-bin`
 * are bytes, all others printable ASCII. A proxy may join the text values of one name by `, `.
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Custom-Metadata")
 */
export type Metadata = ReadonlyArray<readonly [name: string, value: string | Uint8Array]>;

export const NO_METADATA: Metadata = [];

/** Whether the values of a name are bytes. */
export function isBinaryName(name: string): boolean {
  return name.endsWith("-bin");
}

/** The first text value of a name. */
export function first(metadata: Metadata, name: string): string | undefined {
  for (const [key, value] of metadata) if (key === name && typeof value === "string") return value;
  return undefined;
}
