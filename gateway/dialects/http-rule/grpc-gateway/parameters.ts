/**
 * Parameters as grpc-gateway takes them: of the query, of a form, and of the path. Besides the form
 * that proto3 JSON has for a value, it takes the forms of Go: `1` and `T` for true, `1h30m` for a
 * duration. In a field mask it takes the names of the .proto file.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Binding } from "../../../../src/contract/http-rule.js";
import { parameterParts } from "../../../../src/json/read/query.js";
import { wrapped } from "../../../../src/json/types.js";
import type { GatewayRequestHead } from "../../../http/message.js";

export type Parameter = readonly [name: string, value: string];

const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** Whether the body is a form, which grpc-gateway reads like a query. */
export function isUrlEncodedForm({ headers: { contentType } }: Pick<GatewayRequestHead, "headers">): boolean {
  return contentType !== undefined && contentType !== "application/json" && FORM.test(contentType);
}

/**
 * Leaves out the parameters that name a field of the body or of the path, or a message with such a
 * field. grpc-gateway ignores them, too.
 */
export function unbound(parameters: readonly Parameter[], { body, variables }: Binding): Parameter[] {
  if (body === "*") return [];
  const bound = body === undefined ? variables : [...variables, [body]];
  return parameters.filter(([name]) => {
    const parts = parameterParts(name);
    return !bound.some((fields) => parts.every((part, index) => isNamed(fields[index], part)));
  });
}

/** Without a field the name goes on inside the bound field. */
function isNamed(field: DescField | undefined, part: string): boolean {
  return field === undefined || field.name === part || field.jsonName === part;
}

/** The parameters, with each value in the form that proto3 JSON has for it. */
export function inJsonForm(type: DescMessage, parameters: readonly Parameter[]): Parameter[] {
  return parameters.map(([name, value]) => {
    const field = fieldAt(type, parameterParts(name));
    return field === undefined ? [name, value] : [name, valueInJsonForm(field, value)];
  });
}

/** The field of the type google.protobuf.Empty that a parameter without a value sets. */
export function emptyFieldOf({ fields }: DescMessage, [name, value]: Parameter): DescField | undefined {
  if (value !== "") return undefined;
  return fields.find(
    (field) =>
      isNamed(field, name) && field.fieldKind === "message" && field.message.typeName === "google.protobuf.Empty",
  );
}

/** The field whose value a parameter is, if there is one. */
function fieldAt(type: DescMessage, names: readonly string[]): DescField | undefined {
  let parent: DescMessage | undefined = type;
  let found: DescField | undefined;
  for (const name of names) {
    // The key of a map.
    if (name.startsWith("[")) continue;
    found = parent?.fields.find((field) => isNamed(field, name));
    parent = found?.message;
  }
  return found;
}

function valueInJsonForm(field: DescField, value: string): string {
  const { scalar, message } = (field.message && wrapped(field.message)) ?? field;
  if (scalar === ScalarType.BOOL) return BOOLS.get(value) ?? value;
  switch (message?.typeName) {
    case "google.protobuf.Duration":
      return secondsOf(value) ?? value;
    case "google.protobuf.FieldMask":
      return value.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  }
  return value;
}

const BOOLS: ReadonlyMap<string, string> = new Map([
  ...["1", "t", "T", "TRUE", "True"].map((text) => [text, "true"] as const),
  ...["0", "f", "F", "FALSE", "False"].map((text) => [text, "false"] as const),
]);

/** A duration as Go writes it, such as `-1h30m0.5s`. Both letters mu are accepted, as in Go. */
const GO_DURATION = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;
const MAX_DURATION = 64;
const NANOSECONDS: Readonly<Record<string, number>> = {
  ...{ ns: 1, us: 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 },
};

/** A duration as proto3 JSON writes it, `5400.5s`; undefined for any other text. */
function secondsOf(value: string): string | undefined {
  const [, sign = "", parts] = (value.length <= MAX_DURATION && GO_DURATION.exec(value)) || [];
  if (parts === undefined) return undefined;
  let nanoseconds = 0n;
  for (const [, number = "", unit = ""] of parts.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)) {
    nanoseconds += nanosecondsOf(number, NANOSECONDS[unit] as number);
  }
  const fraction = String(nanoseconds % 1_000_000_000n).padStart(9, "0");
  return `${sign === "-" ? "-" : ""}${nanoseconds / 1_000_000_000n}.${fraction}s`;
}

function nanosecondsOf(number: string, unit: number): bigint {
  const [whole = "0", fraction = ""] = number.split(".");
  return BigInt(whole) * BigInt(unit) + BigInt(Math.trunc(Number(`0.${fraction || "0"}`) * unit));
}
