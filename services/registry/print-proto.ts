/**
 * Prints methods, and all types that their messages use, as .proto text. There is one section for
 * each file, and the files with the methods come first. The text is for people to read, so it omits
 * what callers need not know: reserved numbers, extensions, and options other than `deprecated`,
 * `default`, `json_name`, `packed` and `idempotency_level`. Well-known types are only imported.
 * Each section compiles.
 */
import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  DescOneof,
  DescService,
} from "@bufbuild/protobuf";
import { isFieldSet, ScalarType } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import {
  Edition,
  FieldDescriptorProto_Label,
  FieldOptionsSchema,
  MethodOptions_IdempotencyLevel,
} from "@bufbuild/protobuf/wkt";
import { commentOf } from "../../src/contract/comments.js";
import type { Steps } from "../../src/overload/pace.js";

type Type = DescMessage | DescEnum;
type Lines = string[];

/** The .proto text of methods and of all messages that they use, in steps of one type. */
export function* printSteps(methods: readonly DescMethod[]): Steps<string> {
  const types = yield* reachableFrom(methods);
  const byFile = new Map<DescFile, Type[]>();
  for (const { parent } of methods) byFile.set(parent.file, []);
  for (const type of types) {
    const known = byFile.get(type.file);
    if (known === undefined) byFile.set(type.file, [type]);
    else known.push(type);
  }
  yield;
  const texts: string[] = [];
  for (const [file, own] of byFile) if (!isWellKnown(file)) texts.push(yield* printFile(file, methods, own, types));
  return texts.join("\n");
}

/**
 * All types that the methods' messages use, in the order in which they are found, with the messages
 * in which they are declared.
 */
function* reachableFrom(methods: readonly DescMethod[]): Steps<Set<Type>> {
  const found = new Set<Type>();
  const open: (Type | undefined)[] = methods.flatMap(({ input, output }) => [input, output]).reverse();
  while (open.length > 0) {
    const type = open.pop();
    if (type === undefined || found.has(type)) continue;
    found.add(type);
    // Pushed one by one: a message may have more fields than a call can have arguments.
    if (type.kind === "message") for (const used of typesOfFields(type).reverse()) open.push(used);
    open.push(type.parent);
    yield;
  }
  return found;
}

/**
 * The types of a message's own fields. Not recursive, because chains of types may be longer than
 * the call stack.
 */
function typesOfFields({ fields }: DescMessage): Type[] {
  return fields.flatMap((field) => field.enum ?? field.message ?? []);
}

function isWellKnown(file: DescFile): boolean {
  return file.name.startsWith("google/protobuf/");
}

/** @param own the types of the file that are used */
function* printFile(
  file: DescFile,
  methods: readonly DescMethod[],
  own: readonly Type[],
  types: ReadonlySet<Type>,
): Steps<string> {
  const ownMethods = methods.filter((method) => method.parent.file === file);
  const services = [...new Set(ownMethods.map((method) => method.parent))];
  const imports = importsOf(file, ownMethods, own);
  const sections: Lines[] = services.map((service) => printService(service, ownMethods));
  for (const type of own) {
    if (type.parent === undefined) sections.push(printType(type, types));
    yield;
  }
  const lines = [
    `// ${file.proto.name}`,
    header(file),
    ...(file.proto.package === "" ? [] : ["", `package ${file.proto.package};`]),
    ...(imports.length === 0 ? [] : ["", ...imports.map((name) => `import ${quote(name)};`)]),
  ];
  return `${[lines, ...sections].map((section) => section.join("\n")).join("\n\n")}\n`;
}

function header({ edition }: DescFile): string {
  if (edition === Edition.EDITION_PROTO2) return 'syntax = "proto2";';
  if (edition === Edition.EDITION_PROTO3) return 'syntax = "proto3";';
  return `edition = "${Edition[edition]?.replace("EDITION_", "")}";`;
}

/** The files of the types that this section uses. */
function importsOf(file: DescFile, methods: readonly DescMethod[], types: readonly Type[]): string[] {
  const used = new Set<DescFile>(methods.flatMap(({ input, output }) => [input.file, output.file]));
  for (const type of types) if (type.kind === "message") for (const one of typesOfFields(type)) used.add(one.file);
  used.delete(file);
  return [...used].map(({ proto }) => proto.name).sort();
}

function printService(service: DescService, methods: readonly DescMethod[]): Lines {
  const own = methods.filter((method) => method.parent === service);
  return block(comment(service, service.file), `service ${service.name}`, own.map(printMethod));
}

function printMethod(method: DescMethod): Lines {
  const { file } = method.parent;
  const input = (method.proto.clientStreaming ? "stream " : "") + nameIn(method.input, file, undefined);
  const output = (method.proto.serverStreaming ? "stream " : "") + nameIn(method.output, file, undefined);
  const options: Lines = [];
  if (method.deprecated) options.push("option deprecated = true;");
  if (method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN) {
    options.push(`option idempotency_level = ${MethodOptions_IdempotencyLevel[method.idempotency]};`);
  }
  const head = `rpc ${method.name}(${input}) returns (${output})`;
  if (options.length > 0) return block(comment(method, file), head, [options]);
  return [...comment(method, file), `${head};`];
}

function printType(type: Type, types: ReadonlySet<Type>): Lines {
  return type.kind === "enum" ? printEnum(type) : printMessage(type, types);
}

function printEnum(type: DescEnum): Lines {
  const aliased = new Set(type.values.map(({ number }) => number)).size < type.values.length;
  return block(comment(type, type.file), `enum ${type.name}`, [
    ...(aliased ? [["option allow_alias = true;"]] : []),
    ...type.values.map((value) => printValue(value, type)),
  ]);
}

function printValue(value: DescEnumValue, { file }: DescEnum): Lines {
  return [...comment(value, file), `${value.name} = ${value.number}${value.deprecated ? " [deprecated = true]" : ""};`];
}

function printMessage(message: DescMessage, types: ReadonlySet<Type>): Lines {
  return block(comment(message, message.file), `message ${message.name}`, bodyOf(message, types));
}

function bodyOf(message: DescMessage, types: ReadonlySet<Type>): Lines[] {
  const groups = new Set(message.fields.map(groupOf));
  const nested = [...message.nestedEnums, ...message.nestedMessages].filter(
    (type) => types.has(type) && !groups.has(type as DescMessage),
  );
  return [
    ...message.members.map((member) =>
      member.kind === "oneof" ? printOneof(member, types) : printField(member, types),
    ),
    ...nested.map((type) => printType(type, types)),
  ];
}

function printOneof(oneof: DescOneof, types: ReadonlySet<Type>): Lines {
  const fields = oneof.fields.map((field) => printField(field, types));
  return block(comment(oneof, oneof.parent.file), `oneof ${oneof.name}`, fields);
}

function printField(field: DescField, types: ReadonlySet<Type>): Lines {
  const { file } = field.parent;
  const group = groupOf(field);
  const what = group === undefined ? `${typeOf(field)} ${field.name}` : `group ${group.name}`;
  const head = `${labelOf(field)}${what} = ${field.number}${optionsOf(field)}`;
  if (group !== undefined) return block(comment(field, file), head, bodyOf(group, types));
  return [...comment(field, file), `${head};`];
}

/** A proto2 group: a field and its message in one. */
function groupOf(field: DescField): DescMessage | undefined {
  const grouped = field.parent.file.edition === Edition.EDITION_PROTO2 && field.message && "delimitedEncoding" in field;
  return grouped && field.delimitedEncoding ? field.message : undefined;
}

function labelOf(field: DescField): string {
  const { edition } = field.parent.file;
  if (field.fieldKind === "list") return "repeated ";
  if (field.fieldKind === "map" || field.oneof !== undefined) return "";
  if (edition === Edition.EDITION_PROTO3) return field.proto.proto3Optional ? "optional " : "";
  if (edition !== Edition.EDITION_PROTO2) return "";
  return field.proto.label === FieldDescriptorProto_Label.REQUIRED ? "required " : "optional ";
}

function typeOf(field: DescField): string {
  const element = field.message
    ? nameIn(field.message, field.parent.file, field.parent)
    : field.enum
      ? nameIn(field.enum, field.parent.file, field.parent)
      : scalarName(field.scalar as ScalarType);
  return field.fieldKind === "map" ? `map<${scalarName(field.mapKey)}, ${element}>` : element;
}

function scalarName(scalar: ScalarType): string {
  return ScalarType[scalar]!.toLowerCase();
}

function optionsOf(field: DescField): string {
  const options: string[] = [];
  if (field.proto.defaultValue !== "") options.push(`default = ${defaultOf(field)}`);
  if (field.jsonName !== protoCamelCase(field.name)) options.push(`json_name = ${quote(field.jsonName)}`);
  const { options: set } = field.proto;
  if (set && isFieldSet(set, FieldOptionsSchema.field.packed)) options.push(`packed = ${set.packed}`);
  if (field.deprecated) options.push("deprecated = true");
  return options.length === 0 ? "" : ` [${options.join(", ")}]`;
}

function defaultOf(field: DescField): string {
  const text = field.proto.defaultValue;
  if (field.scalar === ScalarType.STRING) return quote(text);
  // The default of a bytes field is already escaped as in C.
  return field.scalar === ScalarType.BYTES ? `"${text}"` : text;
}

/**
 * The shortest name for the type in a message of the file. Protobuf looks up the first part of a
 * name from the innermost message outwards.
 */
function nameIn(type: Type, file: DescFile, scope: DescMessage | undefined): string {
  const scopes: ReadonlySet<string>[] = [];
  const isTaken = (name: string): boolean => scopes.some((names) => names.has(firstPart(name)));
  for (let outer = scope; outer !== undefined; outer = outer.parent) {
    const relative = within(type.typeName, outer.typeName);
    if (relative !== undefined && !isTaken(relative)) return relative;
    scopes.push(nestedNames(outer));
  }
  const relative =
    file.proto.package === type.file.proto.package ? within(type.typeName, file.proto.package) : undefined;
  if (relative !== undefined && !isTaken(relative)) return relative;
  return isTaken(type.typeName) ? `.${type.typeName}` : type.typeName;
}

/** Caches the names by message, because each field of a message needs them. */
const nestedByMessage = new WeakMap<DescMessage, ReadonlySet<string>>();

function nestedNames(message: DescMessage): ReadonlySet<string> {
  let names = nestedByMessage.get(message);
  if (names === undefined) {
    names = new Set([...message.nestedEnums, ...message.nestedMessages].map(({ name }) => name));
    nestedByMessage.set(message, names);
  }
  return names;
}

function within(name: string, scope: string): string | undefined {
  if (scope === "") return name;
  return name.startsWith(`${scope}.`) ? name.slice(scope.length + 1) : undefined;
}

function firstPart(name: string): string {
  return name.split(".", 1)[0]!;
}

function comment(element: { readonly proto: object }, file: DescFile): Lines {
  const text = commentOf(element, file);
  return text === "" ? [] : text.split("\n").map((line) => `// ${line}`.trimEnd());
}

/** Members with a comment or a body are separated by an empty line. */
function block(before: Lines, head: string, members: readonly Lines[]): Lines {
  if (members.length === 0) return [...before, `${head} {}`];
  const spaced = members.flatMap((member, index) => {
    const previous = members[index - 1];
    const apart = previous !== undefined && (member.length > 1 || previous.length > 1);
    return apart ? ["", ...member] : member;
  });
  return [...before, `${head} {`, ...spaced.map((line) => (line === "" ? "" : `  ${line}`)), "}"];
}

function quote(text: string): string {
  return JSON.stringify(text).replace(/[\x7f-\u{10ffff}]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16)}`).join(""),
  );
}
