/** Messages on the wire, encoded by hand. Types are in test/json/*.proto. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** An encoded message of a type. */
export interface Wire {
  readonly type: string;
  readonly title: string;
  readonly wire: Uint8Array;
}

const { Varint, Bit64, LengthDelimited, StartGroup, EndGroup, Bit32 } = WireType;

/**
 * Numbers become varints. Strings and messages get their length in front. Anything else writes
 * itself.
 */
type Value = number | bigint | string | Uint8Array | ((w: BinaryWriter) => void);

/** A message with the given fields, each a number and a value. */
export function message(...fields: readonly (readonly [number: number, value: Value])[]): Uint8Array {
  const w = new BinaryWriter();
  for (const [number, value] of fields) {
    if (typeof value === "number") w.tag(number, Varint).int64(value);
    else if (typeof value === "bigint") w.tag(number, Varint).uint64(value);
    else if (typeof value === "string") w.tag(number, LengthDelimited).string(value);
    else if (value instanceof Uint8Array) w.tag(number, LengthDelimited).bytes(value);
    else value(w);
  }
  return w.finish();
}

export const fixed32 = (number: number, value: number) =>
  [number, (w: BinaryWriter) => w.tag(number, Bit32).sfixed32(value)] as const;
export const double = (number: number, value: number) =>
  [number, (w: BinaryWriter) => w.tag(number, Bit64).double(value)] as const;
export const float = (number: number, value: number) =>
  [number, (w: BinaryWriter) => w.tag(number, Bit32).float(value)] as const;
export const group = (number: number, content: Uint8Array) =>
  [number, (w: BinaryWriter) => w.tag(number, StartGroup).raw(content).tag(number, EndGroup)] as const;
export const raw = (...bytes: number[]) => Uint8Array.from(bytes);
export const joined = (...parts: Uint8Array[]) => Buffer.concat(parts);
