/** Random message types of all kinds of fields, and random JSON for them. */
import {
  create,
  createFileRegistry,
  type DescField,
  type DescMessage,
  type FileRegistry,
  ScalarType,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  Edition,
  FeatureSet_EnumType,
  FeatureSet_FieldPresence,
  FeatureSet_MessageEncoding,
  FeatureSet_RepeatedFieldEncoding,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from "@bufbuild/protobuf/wkt";
import { anyCharacter } from "../support/characters.js";
import { fc } from "../support/properties.js";

const { MESSAGE, ENUM, GROUP, ...SCALARS } = FieldDescriptorProto_Type;
const SCALAR_TYPES = Object.values(SCALARS).filter((type) => typeof type === "number");
const KEY_TYPES = SCALAR_TYPES.filter(
  (type) =>
    type !== FieldDescriptorProto_Type.DOUBLE &&
    type !== FieldDescriptorProto_Type.FLOAT &&
    type !== FieldDescriptorProto_Type.BYTES,
);
void GROUP;

const WELL_KNOWN = ["Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue", "Int64Value", "StringValue"];
const IMPORTS = [
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];

/** Field names and their names in JSON. Some have a meaning in JavaScript, some need escapes. */
const NAMES = [
  ["id", "id"],
  ["first_name", "firstName"],
  ["__proto__", "__proto__"],
  ["constructor", "constructor"],
  ["to_string", "toString"],
  ["x1", "x1"],
  ["a_rather_long_name_of_a_field", "aRatherLongNameOfAField"],
  ["odd", 'an "odd" \\ name'],
  ["unicode", "naïve 🎉"],
  ["value", "value"],
  ["type", "@type"],
  ["z", "z"],
] as const;

interface RandomField {
  readonly type: number;
  readonly key: number;
  readonly message: number;
  readonly wellKnown: string | undefined;
  readonly shape: "explicit" | "implicit" | "list" | "map" | "oneof";
  readonly expanded: boolean;
  readonly delimited: boolean;
  readonly gap: number;
}

const field: fc.Arbitrary<RandomField> = fc.record({
  type: fc.constantFrom(...SCALAR_TYPES, ...SCALAR_TYPES, ENUM, ENUM, MESSAGE, MESSAGE, MESSAGE, MESSAGE),
  key: fc.constantFrom(...KEY_TYPES),
  message: fc.nat(2),
  wellKnown: fc.option(fc.constantFrom(...WELL_KNOWN), { nil: undefined }),
  shape: fc.constantFrom("explicit", "implicit", "list", "map", "oneof"),
  expanded: fc.boolean(),
  delimited: fc.boolean(),
  gap: fc.oneof(
    fc.constant(1),
    fc.nat({ max: 200 }).map((gap) => gap + 1),
  ),
});

export interface RandomTypes {
  readonly types: FileRegistry;
  readonly root: DescMessage;
}

/** Three messages that may contain each other and themselves, with an open and a closed enum. */
export const randomTypes: fc.Arbitrary<RandomTypes> = fc
  .array(fc.array(field, { minLength: 1, maxLength: NAMES.length }), { minLength: 3, maxLength: 3 })
  .map((messages) => {
    const file = create(FileDescriptorProtoSchema, {
      name: "random.proto",
      package: "random",
      syntax: "editions",
      edition: Edition.EDITION_2023,
      dependency: IMPORTS.map(({ proto }) => proto.name),
      messageType: messages.map((fields, index) => messageOf(`M${index}`, fields)),
      enumType: [enumOf("Open", FeatureSet_EnumType.OPEN, 0), enumOf("Closed", FeatureSet_EnumType.CLOSED, 1)],
    });
    const types = createFileRegistry(file, (name) => IMPORTS.find(({ proto }) => proto.name === name));
    // How a failed test shows the types.
    Object.defineProperty(types, fc.toStringMethod, { value: () => toJsonString(FileDescriptorProtoSchema, file) });
    return { types, root: types.getMessage("random.M0")! };
  });

function enumOf(name: string, enumType: FeatureSet_EnumType, first: number) {
  const value = ["A", "B", "C"].map((letter, at) => ({
    name: `${name.toUpperCase()}_${letter}`,
    number: first + at * 3,
  }));
  return { name, value, options: { features: { enumType } } };
}

function messageOf(name: string, fields: readonly RandomField[]) {
  const nestedType: object[] = [];
  let number = 0;
  const field = fields.map((random, at) => {
    number += random.gap;
    const [fieldName, jsonName] = NAMES[at]!;
    return fieldOf(name, random, fieldName, jsonName, number, nestedType);
  });
  const hasOneof = fields.some(({ shape }) => shape === "oneof");
  return { name, field, nestedType, oneofDecl: hasOneof ? [{ name: "choice" }] : [] };
}

function fieldOf(
  message: string,
  { type, key, message: other, wellKnown, shape, expanded, delimited, gap }: RandomField,
  name: string,
  jsonName: string,
  number: number,
  nestedType: object[],
) {
  const typeName =
    type === ENUM
      ? `.random.${gap % 2 === 0 && shape !== "implicit" ? "Closed" : "Open"}`
      : type === MESSAGE
        ? wellKnown === undefined
          ? `.random.M${other}`
          : `.google.protobuf.${wellKnown}`
        : "";
  const common = { name, jsonName, number };
  if (shape === "map") {
    const entry = `${name
      .split("_")
      .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
      .join("")}Entry`;
    const label = FieldDescriptorProto_Label.OPTIONAL;
    nestedType.push({
      name: entry,
      options: { mapEntry: true },
      field: [
        { name: "key", jsonName: "key", number: 1, label, type: key },
        { name: "value", jsonName: "value", number: 2, label, type, typeName },
      ],
    });
    return {
      ...common,
      label: FieldDescriptorProto_Label.REPEATED,
      type: MESSAGE,
      typeName: `.random.${message}.${entry}`,
    };
  }
  const features: Record<string, number> = {};
  const packable =
    type !== MESSAGE && type !== FieldDescriptorProto_Type.STRING && type !== FieldDescriptorProto_Type.BYTES;
  if (shape === "list" && packable && expanded) {
    features.repeatedFieldEncoding = FeatureSet_RepeatedFieldEncoding.EXPANDED;
  }
  if (shape === "implicit" && type !== MESSAGE) features.fieldPresence = FeatureSet_FieldPresence.IMPLICIT;
  if (type === MESSAGE && delimited) features.messageEncoding = FeatureSet_MessageEncoding.DELIMITED;
  return {
    ...common,
    label: shape === "list" ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
    type,
    typeName,
    options: { features },
    ...(shape === "oneof" ? { oneofIndex: 0 } : {}),
  };
}

/**
 * JSON texts for a message type, at most `depth` levels deep. Nearly all are valid for the type.
 */
export function randomJson(type: DescMessage, depth = 3): fc.Arbitrary<string> {
  const special = WELL_KNOWN_JSON[type.typeName.replace("google.protobuf.", "")];
  if (special !== undefined) return special;
  const members = type.fields.map((field) =>
    depth === 0 && field.message !== undefined
      ? fc.constant("")
      : fc.option(member(field, depth), { nil: "", freq: 2 }),
  );
  const oneof = type.fields.findIndex(({ oneof }) => oneof !== undefined);
  return fc.tuple(...members, fc.nat(type.fields.length)).map((all) => {
    const chosen = type.fields.flatMap((field, at) => {
      const text = all[at] as string;
      // One member of the oneof, or sometimes two, which is invalid.
      const spare = field.oneof !== undefined && at !== oneof && all.at(-1) !== at;
      return text === "" || spare ? [] : [text];
    });
    return `{${chosen.join()}}`;
  });
}

function member(field: DescField, depth: number): fc.Arbitrary<string> {
  const name = fc.constantFrom(field.jsonName, field.jsonName, field.name).map((name) => JSON.stringify(name));
  return fc
    .tuple(name, fc.oneof({ weight: 15, arbitrary: value(field, depth) }, fc.constant("null")))
    .map((pair) => pair.join(":"));
}

function value(field: DescField, depth: number): fc.Arbitrary<string> {
  const one = single(field, depth);
  if (field.fieldKind === "list") return fc.array(one, { maxLength: 4 }).map((items) => `[${items.join()}]`);
  if (field.fieldKind !== "map") return one;
  const key = scalar(field.mapKey).map((text) => (text.startsWith('"') ? text : JSON.stringify(text)));
  return fc
    .array(fc.tuple(key, one), { maxLength: 4 })
    .map((entries) => `{${entries.map((pair) => pair.join(":")).join()}}`);
}

function single(field: DescField, depth: number): fc.Arbitrary<string> {
  if (field.message !== undefined) return randomJson(field.message, depth - 1);
  if (field.enum === undefined) return scalar(field.scalar!);
  return fc.constantFrom(
    ...field.enum.values.flatMap(({ name, number }) => [JSON.stringify(name), String(number)]),
    "7",
  );
}

const string = fc.oneof(
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
  fc.string({ maxLength: 200 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"__proto__"', '"\\u0061\\u00e4"', '"\\ud83c\\udf89\\n\\/"', '""'),
);
const integer = (min: bigint, max: bigint) =>
  fc
    .oneof(
      fc.bigInt({ min, max }),
      fc.bigInt({ min: min < -300n ? -300n : min, max: 300n }),
      fc.constantFrom(min, max, 0n),
    )
    .map(String);
const quotedOrNot = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.boolean()).map(([text, quote]) => (quote ? `"${text}"` : text));
const safeInteger = integer(BigInt(Number.MIN_SAFE_INTEGER), BigInt(Number.MAX_SAFE_INTEGER));

function scalar(type: ScalarType): fc.Arbitrary<string> {
  switch (type) {
    case ScalarType.STRING:
      return string;
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 20 }).map((bytes) => JSON.stringify(Buffer.from(bytes).toString("base64")));
    case ScalarType.BOOL:
      return fc.constantFrom("true", "false");
    case ScalarType.DOUBLE:
      return fc.oneof(
        fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
        fc.constantFrom('"NaN"', '"Infinity"', '"-Infinity"', "-0", "1e300", "0.1", "-0.5e-7"),
      );
    case ScalarType.FLOAT:
      return fc.oneof(
        fc.float({ noDefaultInfinity: true, noNaN: true }).map(String),
        fc.constantFrom('"NaN"', '"-Infinity"', "-0"),
      );
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return quotedOrNot(integer(0n, 2n ** 32n - 1n));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return quotedOrNot(integer(-(2n ** 31n), 2n ** 31n - 1n));
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.oneof(
        integer(0n, 2n ** 64n - 1n).map((text) => `"${text}"`),
        safeInteger.map((text) => text.replace("-", "")),
      );
    default:
      return fc.oneof(
        integer(-(2n ** 63n), 2n ** 63n - 1n).map((text) => `"${text}"`),
        safeInteger,
      );
  }
}

const anything = fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter }).map((value) => JSON.stringify(value));
const object = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 20 })
  .map((value) => JSON.stringify(value));
const list = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 4 }).map((value) => JSON.stringify(value));
const digits = (length: number) =>
  fc.nat({ max: 10 ** length - 1 }).map((value) => String(value).padStart(length, "0"));

const WELL_KNOWN_JSON: Readonly<Record<string, fc.Arbitrary<string>>> = {
  Timestamp: fc
    .tuple(
      fc.date({ min: new Date("0001-01-02T00:00:00Z"), max: new Date("9999-12-30T23:59:59Z"), noInvalidDate: true }),
      fc.constantFrom("", ".5", ".000000001", ".123456"),
      fc.constantFrom("Z", "+00:00", "-07:30"),
    )
    .map(([date, fraction, zone]) => `"${date.toISOString().slice(0, 19)}${fraction}${zone}"`),
  Duration: fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.nat({ max: 315_576_000_000 }),
      fc.constantFrom("", ".5", ".000000001"),
      digits(1),
    )
    .map(([sign, seconds, fraction]) => `"${sign}${seconds}${fraction}s"`),
  FieldMask: fc
    .array(fc.constantFrom("a", "fooBar", "b.cD"), { maxLength: 3 })
    .map((paths) => JSON.stringify(paths.join())),
  Struct: object,
  ListValue: list,
  Value: anything,
  Int64Value: scalar(ScalarType.INT64),
  StringValue: string,
};
