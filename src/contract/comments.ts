/** Comments of a .proto file, found by the element that they belong to. */
import type { DescFile } from "@bufbuild/protobuf";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FileDescriptorProto,
  ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";

type Comments = ReadonlyMap<object, string>;

const known = new WeakMap<DescFile, Comments>();

/** The comment before an element, else the one after it; empty for none. Descriptors need not carry comments. */
export function commentOf(element: { readonly proto: object }, file: DescFile): string {
  let comments = known.get(file);
  if (comments === undefined) {
    comments = readComments(file.proto);
    known.set(file, comments);
  }
  return comments.get(element.proto) ?? "";
}

/** The first paragraph of a comment, on one line. */
export function summaryOf(comment: string): string {
  return (comment.split(/\n\s*\n/, 1)[0] ?? "").replaceAll("\n", " ");
}

function readComments(file: FileDescriptorProto): Comments {
  const comments = new Map<object, string>();
  for (const { path, leadingComments, trailingComments } of file.sourceCodeInfo?.location ?? []) {
    const text = clean(leadingComments || trailingComments);
    const element = text === "" ? undefined : elementAt(file, path);
    if (element !== undefined) comments.set(element, text);
  }
  return comments;
}

/** Without control characters, which could drive the terminal that shows them, and without the usual first space. */
function clean(comment: string): string {
  return (
    comment
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is they that are removed.
      .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/g, "")
      .split("\n")
      .map((line) => line.replace(/^ /, "").trimEnd())
      .join("\n")
      .trim()
  );
}

/** Follows a path of field numbers and indexes, as google/protobuf/descriptor.proto has them; undefined for others. */
function elementAt(file: FileDescriptorProto, path: readonly number[]): object | undefined {
  let element: Element | undefined = file;
  for (let step = 0; step < path.length && element !== undefined; step += 2) {
    const members: readonly Element[] | undefined = membersOf(element, path[step]!);
    element = members?.[path[step + 1]!];
  }
  return element === file ? undefined : element;
}

type Element = { readonly $typeName: string };

function membersOf(element: Element, field: number): readonly Element[] | undefined {
  switch (element.$typeName) {
    case "google.protobuf.FileDescriptorProto": {
      const file = element as FileDescriptorProto;
      return { 4: file.messageType, 5: file.enumType, 6: file.service }[field];
    }
    case "google.protobuf.DescriptorProto": {
      const message = element as DescriptorProto;
      return { 2: message.field, 3: message.nestedType, 4: message.enumType, 8: message.oneofDecl }[field];
    }
    case "google.protobuf.EnumDescriptorProto":
      return field === 2 ? (element as EnumDescriptorProto).value : undefined;
    case "google.protobuf.ServiceDescriptorProto":
      return field === 2 ? (element as ServiceDescriptorProto).method : undefined;
  }
  return undefined;
}
