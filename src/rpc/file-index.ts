/**
 * Finds .proto files in many descriptor sets by their name, by what they declare, and by what they
 * extend, as gRPC reflection needs. Several sets may contain the same file, or different files
 * under the same name.
 *
 * Each file has owners: the gRPC services that need it. So a lookup can leave out files that a
 * caller must not see. A file is parsed at the first lookup in its package, because few files are
 * ever looked up.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { DescriptorSet, filesOf, headOf } from "../contract/descriptor-set.js";
import { asBuffer } from "../wire/buffer.js";

/** A gRPC service of a descriptor set, and the owner that the caller of the index gives it. */
export interface Owned<Owner> {
  /** Full name. */
  readonly grpcService: string;
  readonly owner: Owner;
}

/** Whether a lookup may return files of this owner. */
export type Sees<Owner> = (owner: Owner) => boolean;

/** A file, and the set of files that contains its imports. */
export interface FoundFile {
  readonly file: DescriptorFile;
  readonly set: FileSet;
}

type FileSet = ReadonlyMap<string, DescriptorFile>;

/** A set that contains a file, and the owners that need the file in this set. */
interface Place<Owner> {
  readonly set: FileSet;
  readonly owners: Owner[];
}

/** A file that has the same bytes in several sets is one entry. */
interface Entry<Owner> {
  readonly file: DescriptorFile;
  readonly places: Place<Owner>[];
}

export class FileIndex<Owner> {
  readonly #byName = new Map<string, Entry<Owner>[]>();
  readonly #byPackage = new Map<string, Entry<Owner>[]>();

  /**
   * Adds a descriptor set. When several files match a lookup, the first one that was added is
   * returned.
   * @param descriptors with all imports; as bytes a serialized google.protobuf.FileDescriptorSet
   * @param owned the gRPC services that are served. A file belongs to the services that need it. A
   * file that none of them needs belongs to all.
   */
  add(descriptors: Uint8Array | DescriptorSet, owned: readonly Owned<Owner>[]): void {
    const set = fileSetOf(descriptors);
    const files = [...set.values()];
    const needed = new Map<DescriptorFile, Owner[]>();
    for (const { grpcService, owner } of owned) {
      const own = files.find((file) => file.grpcServices.includes(grpcService));
      if (own === undefined) continue;
      for (const file of withImports({ file: own, set })) {
        const owners = needed.get(file);
        if (owners === undefined) needed.set(file, [owner]);
        else owners.push(owner);
      }
    }
    const all = owned.map(({ owner }) => owner);
    for (const file of files) this.#entryOf(file).places.push({ set, owners: needed.get(file) ?? all });
  }

  /** The file with this name, such as `google/protobuf/any.proto`. */
  named(name: string, sees: Sees<Owner>): FoundFile | undefined {
    return first(this.#byName.get(name) ?? [], sees);
  }

  /**
   * The file that declares this full name. It may name a message, field, oneof, enum, enum value,
   * extension, gRPC service or method.
   */
  declaring(symbol: string, sees: Sees<Owner>): FoundFile | undefined {
    return first(this.#ofPackagesAbove(symbol), sees, ({ symbols }) => symbols.has(symbol));
  }

  /** The file that declares the extension of this message with this number. */
  extending(message: string, number: number, sees: Sees<Owner>): FoundFile | undefined {
    if (!this.#hasMessage(message, sees)) return undefined;
    return first(this.#mentioning(message), sees, ({ extensions }) => extensions.get(message)?.has(number) === true);
  }

  /**
   * The numbers of all extensions of a message, sorted; undefined when there is no such message.
   */
  extensionNumbers(message: string, sees: Sees<Owner>): number[] | undefined {
    if (!this.#hasMessage(message, sees)) return undefined;
    const numbers = new Set<number>();
    for (const entry of this.#mentioning(message)) {
      const found = entry.file.declarations.extensions.get(message);
      if (found !== undefined && placeOf(entry, sees) !== undefined) for (const number of found) numbers.add(number);
    }
    return [...numbers].sort((one, other) => one - other);
  }

  #hasMessage(name: string, sees: Sees<Owner>): boolean {
    return first(this.#ofPackagesAbove(name), sees, ({ messages }) => messages.has(name)) !== undefined;
  }

  #entryOf(file: DescriptorFile): Entry<Owner> {
    const namesakes = listIn(this.#byName, file.name);
    const known = namesakes.find((entry) => entry.file.bytes.equals(file.bytes));
    if (known !== undefined) return known;
    const entry: Entry<Owner> = { file, places: [] };
    namesakes.push(entry);
    listIn(this.#byPackage, file.package).push(entry);
    return entry;
  }

  /** The files of all packages that may contain this full name. */
  *#ofPackagesAbove(symbol: string): Generator<Entry<Owner>> {
    for (let end = symbol.lastIndexOf("."); end > 0; end = symbol.lastIndexOf(".", end - 1)) {
      yield* this.#byPackage.get(symbol.slice(0, end)) ?? [];
    }
    yield* this.#byPackage.get("") ?? [];
  }

  /**
   * The files that contain this full name as bytes. All files that extend the message are among
   * them.
   */
  *#mentioning(message: string): Generator<Entry<Owner>> {
    for (const entries of this.#byName.values()) {
      for (const entry of entries) if (entry.file.bytes.includes(message)) yield entry;
    }
  }
}

function listIn<V>(map: Map<string, V[]>, key: string): V[] {
  let list = map.get(key);
  if (list === undefined) {
    list = [];
    map.set(key, list);
  }
  return list;
}

function placeOf<Owner>({ places }: Entry<Owner>, sees: Sees<Owner>): Place<Owner> | undefined {
  return places.find(({ owners }) => owners.some(sees));
}

/** The first entry that has the wanted declaration and a visible owner. */
function first<Owner>(
  entries: Iterable<Entry<Owner>>,
  sees: Sees<Owner>,
  declares?: (declarations: Declarations) => boolean,
): FoundFile | undefined {
  for (const entry of entries) {
    if (declares?.(entry.file.declarations) === false) continue;
    const place = placeOf(entry, sees);
    if (place !== undefined) return { file: entry.file, set: place.set };
  }
  return undefined;
}

/** The file itself, followed by all files that it imports, directly or indirectly. */
export function withImports({ file, set }: FoundFile): DescriptorFile[] {
  const found = new Set<DescriptorFile>();
  const wanted = [file];
  for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    for (const name of next.imports) {
      const imported = set.get(name);
      if (imported !== undefined) wanted.push(imported);
    }
  }
  return [...found];
}

/**
 * Cached by descriptor set: each change of the catalog creates new indexes, but most sets stay the
 * same.
 */
const sets = new WeakMap<Uint8Array | DescriptorSet, FileSet>();

function fileSetOf(descriptors: Uint8Array | DescriptorSet): FileSet {
  let set = sets.get(descriptors);
  if (set === undefined) {
    const all = descriptors instanceof DescriptorSet ? descriptors.fileBytes : filesOf(descriptors);
    const files = [...all].map((bytes) => new DescriptorFile(asBuffer(bytes)));
    // When several files have the same name, the first one is used.
    set = new Map(files.reverse().map((file) => [file.name, file]));
    sets.set(descriptors, set);
  }
  return set;
}

interface Declarations {
  /** Full names. */
  readonly symbols: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
  /** The numbers of extensions, by the full name of the message that they extend. */
  readonly extensions: ReadonlyMap<string, ReadonlySet<number>>;
}

/**
 * A serialized google.protobuf.FileDescriptorProto. At first only the fields that an index needs
 * are read.
 */
export class DescriptorFile {
  readonly bytes: Buffer;
  readonly name: string;
  readonly package: string;
  readonly imports: readonly string[];
  /** Full names. */
  readonly grpcServices: readonly string[];
  #declarations: Declarations | undefined;

  constructor(bytes: Buffer) {
    const { name, scope, imports, services } = headOf(bytes);
    this.bytes = bytes;
    this.name = name;
    this.package = scope;
    this.imports = imports;
    const prefix = scope === "" ? "" : `${scope}.`;
    this.grpcServices = services.map((service) => prefix + nameIn(service));
  }

  get declarations(): Declarations {
    this.#declarations ??= new Declared(this.bytes);
    return this.#declarations;
  }
}

/** The name (field 1) of a serialized google.protobuf.ServiceDescriptorProto. */
function nameIn(bytes: Uint8Array): string {
  const reader = new BinaryReader(bytes);
  let name = "";
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) name = reader.string();
    else reader.skip(wireType, field);
  }
  return name;
}

/** Reads the declarations of a serialized google.protobuf.FileDescriptorProto. */
class Declared implements Declarations {
  readonly symbols = new Set<string>();
  readonly messages = new Set<string>();
  readonly extensions = new Map<string, Set<number>>();

  constructor(bytes: Uint8Array) {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    const scope = file.package === "" ? "" : `${file.package}.`;
    for (const message of file.messageType) this.#addMessage(scope, message);
    for (const type of file.enumType) this.#addEnum(scope, type);
    for (const extension of file.extension) this.#addExtension(scope, extension);
    for (const service of file.service) {
      this.symbols.add(scope + service.name);
      for (const method of service.method) this.symbols.add(`${scope}${service.name}.${method.name}`);
    }
  }

  #addMessage(outer: string, message: DescriptorProto): void {
    const name = outer + message.name;
    const scope = `${name}.`;
    this.symbols.add(name);
    this.messages.add(name);
    for (const { name: member } of [...message.field, ...message.oneofDecl]) this.symbols.add(scope + member);
    for (const nested of message.nestedType) this.#addMessage(scope, nested);
    for (const type of message.enumType) this.#addEnum(scope, type);
    for (const extension of message.extension) this.#addExtension(scope, extension);
  }

  /** Enum values are named in the scope that contains the enum, not in the enum's own scope. */
  #addEnum(scope: string, type: EnumDescriptorProto): void {
    for (const { name } of [type, ...type.value]) this.symbols.add(scope + name);
  }

  #addExtension(scope: string, { name, extendee, number }: FieldDescriptorProto): void {
    this.symbols.add(scope + name);
    const extended = extendee.replace(/^\./, "");
    const numbers = this.extensions.get(extended);
    if (numbers === undefined) this.extensions.set(extended, new Set([number]));
    else numbers.add(number);
  }
}
