/** The comments of a .proto file, by element. */
import type { DescFile } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";

type Comments = ReadonlyMap<object, string>;

const known = new WeakMap<DescFile, Comments>();

/**
 * The comment before an element, or else the one after it; empty for none. Descriptors need not
 * contain comments.
 */
export function commentOf(element: { readonly proto: object }, file: DescFile): string {
  let comments = known.get(file);
  if (comments === undefined) {
    comments = readComments(file.proto, locationsOf(file));
    known.set(file, comments);
  }
  return comments.get(element.proto) ?? "";
}

const unparsed = new WeakMap<DescFile, Uint8Array>();

/**
 * Stores the google.protobuf.SourceCodeInfo of a file that was parsed without it, for `commentOf`.
 */
export function setSourceInfo(file: DescFile, bytes: Uint8Array): void {
  unparsed.set(file, bytes);
}

/** The fields that are read from a google.protobuf.SourceCodeInfo.Location. */
interface Location {
  readonly path: readonly number[];
  readonly leadingComments: string;
  readonly trailingComments: string;
}

function locationsOf(file: DescFile): Iterable<Location> {
  const bytes = unparsed.get(file);
  return bytes === undefined ? (file.proto.sourceCodeInfo?.location ?? []) : commentedLocations(bytes);
}

/** Field numbers in google.protobuf.SourceCodeInfo and its Location. */
const LOCATION = 1;
const PATH = 1;
const LEADING = 3;
const TRAILING = 4;

/**
 * The locations with a comment. Locations without one are skipped: a file may have many more of
 * them than elements.
 */
function* commentedLocations(sourceInfo: Uint8Array): Generator<Location> {
  const reader = new BinaryReader(sourceInfo);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== LOCATION || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    const location = readLocation(reader.bytes());
    if (location !== undefined) yield location;
  }
}

function readLocation(bytes: Uint8Array): Location | undefined {
  const reader = new BinaryReader(bytes);
  const path: number[] = [];
  let [leadingComments, trailingComments] = ["", ""];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === PATH && wireType === WireType.LengthDelimited) {
      for (const end = reader.uint32() + reader.pos; reader.pos < end; ) path.push(reader.int32());
    } else if (field === PATH && wireType === WireType.Varint) path.push(reader.int32());
    else if (field === LEADING && wireType === WireType.LengthDelimited) leadingComments = reader.string();
    else if (field === TRAILING && wireType === WireType.LengthDelimited) trailingComments = reader.string();
    else reader.skip(wireType, field);
  }
  return leadingComments === "" && trailingComments === "" ? undefined : { path, leadingComments, trailingComments };
}

/** The first paragraph of a comment, on one line. */
export function summaryOf(comment: string): string {
  return (comment.split(/\n\s*\n/, 1)[0] ?? "").replaceAll("\n", " ");
}

function readComments(file: FileDescriptorProto, locations: Iterable<Location>): Comments {
  const comments = new Map<object, string>();
  for (const { path, leadingComments, trailingComments } of locations) {
    const element = elementAt(file, path);
    // If an element has several comments, the first one counts, so that only one is cleaned.
    if (element === undefined || comments.has(element)) continue;
    const text = clean(leadingComments || trailingComments);
    if (text !== "") comments.set(element, text);
  }
  return comments;
}

/**
 * Removes control characters, which could manipulate the terminal that shows the comment, and the
 * usual first space.
 */
function clean(comment: string): string {
  return (
    comment
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes them.
      .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/g, "")
      .split("\n")
      .map((line) => line.replace(/^ /, "").trimEnd())
      .join("\n")
      .trim()
  );
}

/**
 * The members that may have comments, by their field numbers in google/protobuf/descriptor.proto.
 */
const MEMBERS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  "google.protobuf.FileDescriptorProto": { 4: "messageType", 5: "enumType", 6: "service" },
  "google.protobuf.DescriptorProto": { 2: "field", 3: "nestedType", 4: "enumType", 8: "oneofDecl" },
  "google.protobuf.EnumDescriptorProto": { 2: "value" },
  "google.protobuf.ServiceDescriptorProto": { 2: "method" },
};

type Element = { readonly $typeName: string };

/** Follows a path of field numbers and indexes; undefined if it leads to no member of MEMBERS. */
function elementAt(file: FileDescriptorProto, path: readonly number[]): object | undefined {
  let element: Element | undefined = file;
  for (let step = 0; step < path.length && element !== undefined; step += 2) {
    const name: string | undefined = MEMBERS[element.$typeName]?.[path[step]!];
    const members: readonly Element[] | undefined = name === undefined ? undefined : Reflect.get(element, name);
    element = members?.[path[step + 1]!];
  }
  return element === file ? undefined : element;
}
