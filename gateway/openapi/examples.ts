/**
 * Examples of messages. The comment of a field gives its value in the words "such as `Ada`".
 * Without these words the value is invented. The example of a request leaves out a field without
 * these words whose comment says what its absence means, such as "empty for all": an invented
 * page token or position would be refused. Messages nested deeper than MAX_DEPTH are left out,
 * and messages with more than MAX_FIELDS fields.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { commentOf } from "../../src/contract/comments.js";
import { isSecret } from "../../src/contract/secrets.js";
import type { Direction } from "../../src/json/schema/scalars.js";
import { hasOwnForm, type JsonStyle, wrapped, writtenName } from "../../src/json/types.js";

const MAX_DEPTH = 3;
/** Maximum members of an example. When it has this number, further nested messages are left out. */
const MAX_MEMBERS = 30;
/**
 * Maximum fields of a message with an example. A document repeats the example for each path of an
 * endpoint.
 */
const MAX_FIELDS = 500;

/** The example as it is made. */
interface Making {
  members: number;
  readonly style: JsonStyle;
}

/** An example of a message in JSON; undefined if none can be invented. */
export function exampleOf(type: DescMessage, direction: Direction, style: JsonStyle = {}): unknown {
  return ownForm(type) ?? (hasOwnForm(type) ? undefined : objectOf(type, direction, 1, { members: 0, style }));
}

function objectOf(type: DescMessage, direction: Direction, depth: number, making: Making): object | undefined {
  if (type.fields.length > MAX_FIELDS) return undefined;
  const members = type.fields.flatMap((field): [string, unknown][] => {
    if (field.oneof !== undefined && field.oneof.fields[0] !== field) return [];
    // A secret must not be published in a document, except when the contract's author gives an
    // example.
    const isKept = isSecret(field) && suchAs(field) === undefined;
    if (direction === "input" && (field.deprecated || isKept || isOptional(field))) return [];
    making.members++;
    const nests = depth < MAX_DEPTH && making.members < MAX_MEMBERS;
    const value = fieldExample(field, direction, nests ? depth + 1 : undefined, making);
    return value === undefined ? [] : [[writtenName(field, making.style), value]];
  });
  return Object.fromEntries(members);
}

/** @param depth the depth of a message in the field; undefined if messages are left out */
function fieldExample(field: DescField, direction: Direction, depth: number | undefined, making: Making): unknown {
  const one = singleExample(field, direction, depth, making);
  if (field.fieldKind === "list") return one === undefined ? [] : [one];
  if (field.fieldKind !== "map") return one;
  return one === undefined
    ? {}
    : { [`${field.mapKey === ScalarType.STRING ? "key" : scalarExample(field.mapKey, "")}`]: one };
}

function singleExample(field: DescField, direction: Direction, depth: number | undefined, making: Making): unknown {
  const { message, enum: type, scalar } = field;
  if (message !== undefined) {
    const own = isDuration(message, suchAs(field)) ? suchAs(field) : ownForm(message);
    if (own !== undefined || hasOwnForm(message)) return own;
    return depth === undefined || message === field.parent ? undefined : objectOf(message, direction, depth, making);
  }
  if (type === undefined) return scalarExample(scalar!, suchAs(field) ?? "");
  if (type.typeName === "google.protobuf.NullValue") return null;
  return (type.values[1] ?? type.values[0])?.jsonName;
}

/** By its comment, whether a request is complete without the field. No enum value is invented. */
function isOptional(field: DescField): boolean {
  return field.enum === undefined && suchAs(field) === undefined && ABSENCE.test(commentOf(field, field.parent.file));
}

const ABSENCE = /\b(?:absent|empty|0) (?:means|for|where|counts|leaves)\b/i;

function isDuration({ typeName }: DescMessage, given = ""): boolean {
  return typeName === "google.protobuf.Duration" && /^\d{1,9}s$/.test(given);
}

/** The example in a field's comment. */
export function suchAs(field: DescField): string | undefined {
  return /\bsuch as `([^`]+)`/.exec(commentOf(field, field.parent.file))?.[1];
}

/** @param given the example in a comment; "" for none */
function scalarExample(scalar: ScalarType, given: string): string | number | boolean {
  switch (scalar) {
    case ScalarType.STRING:
      return given || "text";
    case ScalarType.BYTES:
      return "AQID";
    case ScalarType.BOOL:
      return true;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return 1.5;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return /^\d{1,18}$/.test(given) ? given : "1";
    default:
      return /^\d{1,9}$/.test(given) ? Number(given) : 1;
  }
}

/**
 * An example of a type whose JSON is not an object of its fields. An Any has no example, because
 * only the service knows which types it may contain.
 */
function ownForm(type: DescMessage): unknown {
  const inner = wrapped(type);
  if (inner !== undefined) return scalarExample(inner.scalar!, "");
  return OWN_FORMS.get(type.typeName);
}

const OWN_FORMS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["google.protobuf.Timestamp", "2026-01-31T12:00:00Z"],
  ["google.protobuf.Duration", "1.5s"],
  ["google.protobuf.FieldMask", "name"],
  ["google.protobuf.Struct", { key: "value" }],
  ["google.protobuf.ListValue", ["value"]],
  ["google.protobuf.Value", "value"],
]);
