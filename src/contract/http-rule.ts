/**
 * The annotation `google.api.http` of a gRPC method (google/api/http.proto). It gives the HTTP
 * methods and paths by which the gRPC method is called as a REST API. It is read from the
 * descriptor and checked against the method's messages.
 */
import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type MethodDescriptorProto, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { HttpRule } from "../gen/google/api/http.js";
import { type PathTemplate, parsePathTemplate } from "./path-template.js";

/**
 * One HTTP method and path template of a gRPC method. `additional_bindings` give a method several
 * of them.
 */
export interface Binding {
  /** The prefix before the annotated path. */
  readonly prefix: string;
  /** `GET`; `*` for every method. */
  readonly httpMethod: string;
  readonly template: PathTemplate;
  /**
   * The fields that the template's variables set, in their order. Each is a path of fields from the
   * request to a value.
   */
  readonly variables: readonly (readonly DescField[])[];
  /**
   * The content of the body: the request message (`*`), the value of one of its fields, or nothing.
   */
  readonly body: DescField | "*" | undefined;
  /** The field of the response message that becomes the body; undefined: the whole message. */
  readonly responseBody: DescField | undefined;
}

export interface HttpRuleBindings {
  readonly bindings: readonly Binding[];
  /** Why other bindings are left out, for the author of the .proto file. */
  readonly problems: readonly string[];
}

/** The field number of the extension `google.api.http` of google.protobuf.MethodOptions. */
export const HTTP = 72_295_728;
/** Maximum number of bindings of a method. */
const MAX_BINDINGS = 64;
const NONE: HttpRuleBindings = { bindings: [], problems: [] };

/** The bindings that were last read, by method. */
const known = new WeakMap<DescMethod, { readonly prefix: string; readonly bindings: HttpRuleBindings }>();

/** The bindings of a method. @param prefix of each path, such as `/api` */
export function bindingsOf(method: DescMethod, prefix = ""): HttpRuleBindings {
  const before = known.get(method);
  if (before?.prefix === prefix) return before.bindings;
  const bindings = readBindings(method, prefix);
  known.set(method, { prefix, bindings });
  return bindings;
}

function readBindings(method: DescMethod, prefix: string): HttpRuleBindings {
  const bytes = annotationOf(method.proto);
  if (bytes === undefined) return NONE;
  const bindings: Binding[] = [];
  const problems: string[] = [];
  try {
    const rule = HttpRule.decode(bytes);
    const rules = [rule, ...rule.additionalBindings];
    const isSelecting = rule.selector !== "";
    if (rules.length > MAX_BINDINGS) throw new SyntaxError(`has more than ${MAX_BINDINGS} bindings`);
    for (const [index, one] of rules.entries()) {
      try {
        if (index > 0 && one.additionalBindings.length > 0) {
          throw new SyntaxError("an additional binding has additional bindings of its own");
        }
        bindings.push(bindingOf(one, method, prefix));
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    if (isSelecting && problems.length > 0) return { bindings: [], problems: problems.map(toRuleProblem) };
  } catch (error) {
    problems.push(`the annotation cannot be read: ${(error as Error).message}`);
  }
  return { bindings, problems };
}

/**
 * An annotation with a selector comes from the HTTP rules of a service configuration. If an error
 * is in one of its bindings, none is served: the operator has replaced all paths of the method.
 */
function toRuleProblem(problem: string): string {
  return `${problem}; httpRules give it no path until that is corrected`;
}

/** Whether methods only read, because finding out parses their annotations. */
const reading = new WeakMap<DescMethod, boolean>();

/** Whether the contract says that a call only reads: NO_SIDE_EFFECTS, or a binding to GET. */
export function onlyReads(method: DescMethod): boolean {
  let reads = reading.get(method);
  if (reads === undefined) {
    const isFree = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    reads = isFree || readBindings(method, "").bindings.some(({ httpMethod }) => httpMethod === "GET");
    reading.set(method, reads);
  }
  return reads;
}

/** Whether a method has the annotation. */
export function hasHttpRule(method: MethodDescriptorProto): boolean {
  return annotationOf(method) !== undefined;
}

/**
 * The annotation, still encoded. Descriptors are read without the extension, so it is an unknown
 * field.
 */
function annotationOf({ options }: MethodDescriptorProto): Uint8Array | undefined {
  const fields = options?.$unknown?.filter(({ no, wireType }) => no === HTTP && wireType === WireType.LengthDelimited);
  if (fields === undefined || fields.length === 0) return undefined;
  // Several occurrences of a message field are merged by concatenating their bytes.
  return Buffer.concat(fields.map(({ data }) => new BinaryReader(data).bytes()));
}

function bindingOf(rule: HttpRule, { input, output }: DescMethod, prefix: string): Binding {
  const { httpMethod, path } = patternOf(rule);
  const template = parsePathTemplate(prefix + path);
  try {
    const variables = template.variables.map(({ fieldPath }) => fieldsOf(input, fieldPath));
    const body = rule.body === "*" ? "*" : topField(input, rule.body, "body");
    const bound = variables.find((fields) => fields.length === 1 && fields[0] === body);
    if (bound !== undefined) throw new SyntaxError(`the field ${rule.body} is in the path and the body`);
    return {
      prefix,
      httpMethod,
      template,
      variables,
      body,
      responseBody: topField(output, rule.responseBody, "response_body"),
    };
  } catch (error) {
    throw new SyntaxError(`${httpMethod} ${template.text}: ${(error as Error).message}`);
  }
}

/** The syntax of an HTTP method (RFC 9110 §5.6.2, §9.1). */
const METHOD = /^[!#$%&'*+.^`|~\w-]{1,64}$/;
/** Methods that concern the path or the connection; gateways respond to them themselves. */
const NEVER_CALLED: ReadonlySet<string> = new Set(["OPTIONS", "CONNECT", "TRACE"]);

function patternOf({ pattern }: HttpRule): { readonly httpMethod: string; readonly path: string } {
  if (pattern === undefined) throw new SyntaxError("a binding has no path");
  if (pattern.$case !== "custom") return { httpMethod: pattern.$case.toUpperCase(), path: pattern.value };
  const { kind, path } = pattern.value;
  const httpMethod = kind.toUpperCase();
  if (!METHOD.test(kind)) throw new SyntaxError(`the custom method ${JSON.stringify(kind)} is no method of HTTP`);
  if (NEVER_CALLED.has(httpMethod)) throw new SyntaxError(`the method ${httpMethod} never calls an endpoint`);
  return { httpMethod, path };
}

/**
 * The fields of a message type, by their names in the .proto file and in JSON. A name in the .proto
 * file takes precedence.
 */
const fieldsByName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** The field with a name in the .proto file or in JSON. */
function fieldOf(type: DescMessage, name: string): DescField {
  let fields = fieldsByName.get(type);
  if (fields === undefined) {
    const reversed = type.fields.toReversed();
    fields = new Map([
      ...reversed.map((field) => [field.jsonName, field] as const),
      ...reversed.map((field) => [field.name, field] as const),
    ]);
    fieldsByName.set(type, fields);
  }
  const field = fields.get(name);
  if (field === undefined) throw new SyntaxError(`${type.typeName} has no field ${name}`);
  return field;
}

function topField(type: DescMessage, name: string, what: string): DescField | undefined {
  if (name === "") return undefined;
  if (name.includes(".")) throw new SyntaxError(`${what} must name a field of ${type.typeName} itself, not ${name}`);
  return fieldOf(type, name);
}

/** Messages whose JSON is a string or another single value, so that a path can contain it. */
const SINGLE_VALUES =
  /^google\.protobuf\.(?:Timestamp|Duration|FieldMask|(?:Double|Float|U?Int32|U?Int64|Bool|String|Bytes)Value)$/;

/** The fields of a variable's path. They must lead to a single value. */
function fieldsOf(type: DescMessage, names: readonly string[]): DescField[] {
  const fields: DescField[] = [];
  let parent: DescMessage | undefined = type;
  for (const name of names) {
    if (parent === undefined) throw new SyntaxError(`the variable ${names.join(".")} goes on after a single value`);
    const field = fieldOf(parent, name);
    if (field.fieldKind === "list" || field.fieldKind === "map") {
      throw new SyntaxError(`the variable ${names.join(".")} is or has a ${field.fieldKind}`);
    }
    // A group has no length prefix, so its fields cannot be replaced without reading them.
    if (field.fieldKind === "message" && field.delimitedEncoding) {
      throw new SyntaxError(`the variable ${names.join(".")} is or has a group`);
    }
    fields.push(field);
    parent = field.message !== undefined && !SINGLE_VALUES.test(field.message.typeName) ? field.message : undefined;
  }
  if (parent !== undefined) throw new SyntaxError(`the variable ${names.join(".")} is a message, not a single value`);
  return fields;
}
