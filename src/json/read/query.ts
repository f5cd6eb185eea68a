/**
 * Converts query parameters to JSON: `a.b=1&tags=x&tags=y&m[k]=v` becomes
 * `{"a":{"b":"1"},"tags":["x","y"],"m":{"k":"v"}}`. The readers of JSON accept strings for numbers,
 * times and bytes.
 */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { didYouMean } from "../../contract/nearest.js";
import { isSecret } from "../../contract/secrets.js";
import { JsonError } from "../codec.js";
import { fieldNames, hasOwnForm, wrapped } from "../types.js";
import { beginning } from "./errors.js";

/** JSON text, the values of a repeated parameter, or the members of a message or map. */
type Node = string | string[] | Map<string, Node>;

type Target = Pick<DescField, "message" | "enum" | "scalar">;

/** The reader rejects deeper nesting. */
const MAX_PARTS = 64;
const MAX_ECHO = 40;

/**
 * The JSON of query parameters.
 * @param ignoreUnknown see `JsonStyle`
 * @throws {JsonError} for an unknown parameter, or one that is given twice and is not a list
 */
export function queryJson(
  type: DescMessage,
  parameters: Iterable<readonly [name: string, value: string]>,
  ignoreUnknown: boolean,
): string {
  const root = new Map<string, Node>();
  for (const [name, value] of parameters) {
    // Nothing of an unknown parameter may be in the JSON: `a.unknown=1` must not set the message `a`.
    if (ignoreUnknown && !isField(type, parameterParts(name))) continue;
    const problem = value.isWellFormed() ? addToMessage(type, root, parameterParts(name), value) : NOT_UNICODE;
    if (problem === undefined) continue;
    throw new JsonError(`${beginning(shownName(type, name), MAX_ECHO)}: ${problem}`);
  }
  return textOf(root);
}

/** The part of the name up to a secret field. The map keys that may follow it are secret too. */
function shownName(type: DescMessage, name: string): string {
  let inner: DescMessage | undefined = type;
  let length = 0;
  for (const part of parameterParts(name)) {
    length += part.length + (length > 0 && !part.startsWith("[") ? 1 : 0);
    const field: DescField | undefined = inner?.fields.find((one) => isNamed(one, part));
    if (field !== undefined && isSecret(field)) return name.slice(0, length);
    // After a map's key come the fields of the map's value.
    if (field !== undefined) inner = field.message;
  }
  return name;
}

function isNamed({ jsonName, name }: DescField, part: string | undefined): boolean {
  return jsonName === part || name === part;
}

/** Whether the parts of a name lead to a field. A map without a key is one: it has its own error. */
function isField(type: DescMessage, [part, ...rest]: readonly string[]): boolean {
  const field = type.fields.find((one) => isNamed(one, part));
  if (field === undefined || hasOwnForm(type)) return false;
  if (field.fieldKind === "map") {
    if (!rest.shift()?.startsWith("[")) return true;
  } else if (field.fieldKind === "list") return rest.length === 0;
  return rest.length === 0 || (field.message !== undefined && isField(field.message, rest));
}

const NOT_UNICODE = "the text has half of a surrogate pair";
const UNKNOWN = "no such parameter";
const TWICE = "given more than once";

/** A part of a name: `field`, `.field` or `[key]`. */
const PART = /(?:^|(?<=.)\.)([^.[\]]+)|(\[.*?\])(?=$|[.[])/sy;

/**
 * The parts of a parameter's name, `a.b[k]`, with map keys in brackets; empty for an invalid name.
 */
export function parameterParts(name: string): string[] {
  const parts: string[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < name.length) {
    const match = PART.exec(name);
    if (match === null || parts.length === MAX_PARTS) return [];
    parts.push(match[1] ?? match[2]!);
  }
  return parts;
}

/** Adds a value to a message. Returns the error, or undefined. */
function addToMessage(type: DescMessage, node: Map<string, Node>, parts: string[], value: string): string | undefined {
  const part = parts.shift();
  const field = type.fields.find((one) => isNamed(one, part));
  if (hasOwnForm(type)) return UNKNOWN;
  if (field === undefined) return UNKNOWN + didYouMean(part ?? "", fieldNames(type));
  if (field.fieldKind !== "list") {
    return field.fieldKind === "map"
      ? addToMap(field, node, parts, value)
      : addToTarget(field, node, field.jsonName, parts, value);
  }
  if (parts.length > 0) return UNKNOWN;
  const items = node.get(field.jsonName) as string[] | undefined;
  if (items === undefined) node.set(field.jsonName, [leaf(field, value)]);
  else items.push(leaf(field, value));
}

function addToMap(field: DescField, node: Map<string, Node>, parts: string[], value: string): string | undefined {
  const part = parts.shift();
  if (!part?.startsWith("[")) return `a map: name the key as in ${field.jsonName}[key]`;
  return addToTarget(field, membersOf(node, field.jsonName), part.slice(1, -1), parts, value);
}

/** Adds a value as a member of a message or map, or to the message in that member. */
function addToTarget(
  target: Target,
  node: Map<string, Node>,
  name: string,
  parts: string[],
  value: string,
): string | undefined {
  if (parts.length === 0) {
    if (node.has(name)) return TWICE;
    node.set(name, leaf(target, value));
    return;
  }
  if (target.message === undefined) return UNKNOWN;
  const before = node.get(name);
  if (typeof before === "string") return TWICE;
  return addToMessage(target.message, membersOf(node, name), parts, value);
}

function membersOf(node: Map<string, Node>, name: string): Map<string, Node> {
  const before = node.get(name);
  if (before !== undefined) return before as Map<string, Node>;
  const members = new Map<string, Node>();
  node.set(name, members);
  return members;
}

/**
 * A value as JSON: a string, except for booleans and enum numbers, which cannot be strings in
 * proto3 JSON.
 */
function leaf(target: Target, value: string): string {
  const { scalar, enum: type } = (target.message && wrapped(target.message)) ?? target;
  if (scalar === ScalarType.BOOL && (value === "true" || value === "false")) return value;
  if (type !== undefined && isNumberOf(type, value)) return value;
  return JSON.stringify(value);
}

function isNumberOf(type: DescEnum, value: string): boolean {
  return /^-?(0|[1-9]\d*)$/.test(value) && !type.values.some(({ name }) => name === value);
}

function textOf(node: Node): string {
  if (typeof node === "string") return node;
  if (Array.isArray(node)) return `[${node.join()}]`;
  return `{${Array.from(node, ([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`).join()}}`;
}
