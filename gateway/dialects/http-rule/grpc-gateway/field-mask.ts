/**
 * The update mask of a PATCH whose client sends none: the names of the fields in its body. So a
 * client changes only the fields that it sends.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Binding } from "../../../../src/contract/http-rule.js";
import { hasOwnForm } from "../../../../src/json/types.js";

const FIELD_MASK = "google.protobuf.FieldMask";
const STRUCTS: ReadonlySet<string> = new Set(["google.protobuf.Struct", "google.protobuf.Value"]);
/** The field number of `paths`. */
const PATHS = 1;
/** Maximum nesting of a body. The codec rejects deeper nesting. */
const MAX_DEPTH = 100;

/**
 * The field that the mask fills; undefined where the body is not a message in a field, or the
 * request has no field mask, or several.
 */
export function maskFieldOf({ httpMethod, body }: Binding, { fields }: DescMessage): DescField | undefined {
  if (httpMethod !== "PATCH" || body === undefined || body === "*" || body.fieldKind !== "message") return undefined;
  const masks = fields.filter(({ fieldKind, message }) => fieldKind === "message" && message?.typeName === FIELD_MASK);
  return masks.length === 1 ? masks[0] : undefined;
}

/**
 * The mask of a body, as the field of the request in wire bytes.
 * @param body JSON that the codec has accepted for the type
 */
export function maskOf({ number }: DescField, type: DescMessage, body: Uint8Array): Uint8Array {
  const paths = new Set<string>();
  addPaths(paths, type, "", JSON.parse(Buffer.from(body).toString()));
  const mask = new BinaryWriter();
  for (const path of [...paths].sort()) mask.tag(PATHS, WireType.LengthDelimited).string(path);
  return new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(mask.finish()).finish();
}

/**
 * Adds the paths of the members of an object. A list, a map and an empty object are one path.
 * @param type undefined for an object in a google.protobuf.Struct, which has no fields
 */
function addPaths(paths: Set<string>, type: DescMessage | undefined, prefix: string, value: unknown, depth = 0): void {
  for (const [name, member] of Object.entries(Object(value) as Record<string, unknown>)) {
    const field = type?.fields.find((one) => one.name === name || one.jsonName === name);
    if (type !== undefined && field === undefined) continue;
    const path = prefix + (field?.name ?? name);
    const isFull = isObject(member) && Object.keys(member).length > 0 && depth < MAX_DEPTH;
    if (isFull && (field === undefined || isStruct(field))) addPaths(paths, undefined, `${path}.`, member, depth + 1);
    else if (isFull && isPlainMessage(field)) addPaths(paths, field?.message, `${path}.`, member, depth + 1);
    else paths.add(path);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStruct({ fieldKind, message }: DescField): boolean {
  return fieldKind === "message" && STRUCTS.has(message?.typeName ?? "");
}

/** Whether the value is a message whose JSON has its fields as members. */
function isPlainMessage(field: DescField | undefined): boolean {
  return field?.fieldKind === "message" && field.message !== undefined && !hasOwnForm(field.message);
}
