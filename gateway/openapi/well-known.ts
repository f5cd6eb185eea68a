/** JSON Schemas of the messages of google.protobuf with a JSON form of their own, except wrappers. */
import type { DescMessage } from "@bufbuild/protobuf";
import { upTo } from "./scalars.js";
import type { Direction, Schema } from "./schema.js";

/** The schema of a well-known type; undefined for any other type. */
export function wellKnownSchema({ typeName }: DescMessage, direction: Direction): Schema | undefined {
  const forms = FORMS.get(typeName);
  return forms?.[direction];
}

const YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
const DAY = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])";
const TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";

const timestamp = (fraction: string, zone: string): Schema => ({
  type: "string",
  description: "A time of the years 0001 to 9999 (RFC 3339).",
  format: "date-time",
  pattern: `^${YEAR}-${DAY}T${TIME}${fraction}${zone}$`,
});

const TIMESTAMP = {
  input: timestamp("(?:\\.[0-9]{1,9})?", "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"),
  output: timestamp("(?:\\.(?:[0-9]{3}){1,3})?", "Z"),
};

const DURATION = alike({
  type: "string",
  description: "Seconds, such as `1.5s`: at most 315576000000, which is 10,000 years.",
  pattern: `^-?(?:${upTo("315576000000")})(?:\\.[0-9]{1,9})?s$`,
});

const FIELD_MASK = alike({
  type: "string",
  description: "Names of fields in lowerCamelCase, with commas between, such as `name,address.street`.",
  pattern: "^(?:[^_,]+(?:,[^_,]+)*)?$",
});

const STRUCT = alike({ type: "object", description: "Any JSON object.", additionalProperties: true });
const LIST = alike({ type: "array", description: "Any JSON array.", items: {} });
const VALUE = alike({ description: "Any JSON value." });

const ANY = alike({
  type: "object",
  description:
    "A message of any type of the service. `@type` says which one; the others are its fields, or where its JSON is no object of fields, `value`.",
  properties: {
    "@type": { type: "string", pattern: "/", description: "Such as `type.googleapis.com/google.protobuf.Duration`." },
  },
  additionalProperties: true,
});

function alike(schema: Schema): Readonly<Record<Direction, Schema>> {
  return { input: schema, output: schema };
}

const FORMS: ReadonlyMap<string, Readonly<Record<Direction, Schema>>> = new Map([
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["google.protobuf.Duration", DURATION],
  ["google.protobuf.FieldMask", FIELD_MASK],
  ["google.protobuf.Struct", STRUCT],
  ["google.protobuf.ListValue", LIST],
  ["google.protobuf.Value", VALUE],
  ["google.protobuf.Any", ANY],
]);
