/**
 * The codecs of the message types of a registry. For now over message objects of @bufbuild/protobuf.
 */
import {
  type DescMessage,
  type FileRegistry,
  fromBinary,
  fromJson,
  fromJsonString,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { type Codec, JsonError } from "./codec.js";

/** A function that gives the codec of a message type, the same one each time. `registry` resolves `Any` and extensions. */
export function compileCodecs(registry: FileRegistry): (type: DescMessage) => Codec {
  const codecs = new Map<string, Codec>();
  return (type) => {
    let codec = codecs.get(type.typeName);
    if (codec === undefined) {
      codec = reflected(type, registry);
      codecs.set(type.typeName, codec);
    }
    return codec;
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function reflected(type: DescMessage, registry: FileRegistry): Codec {
  return {
    read: (json) => asJsonError(() => toBinary(type, fromJsonString(type, utf8.decode(json), { registry }))),
    write: (wire) => toJsonString(type, fromBinary(type, wire), { registry, alwaysEmitImplicit: true }),
    readQuery: (parameters) =>
      asJsonError(() => toBinary(type, fromJson(type, queryObject(type, parameters), { registry }))),
  };
}

function asJsonError<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new JsonError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function queryObject(type: DescMessage, parameters: Iterable<readonly [string, string]>): JsonObject {
  const root: JsonObject = Object.create(null);
  for (const [name, value] of parameters) {
    let message: DescMessage | undefined = type;
    let target = root;
    const segments = name.split(".");
    for (const [index, segment] of segments.entries()) {
      const field: DescMessage["fields"][number] | undefined = message?.fields.find(
        (f) => f.name === segment || f.jsonName === segment,
      );
      if (field === undefined) throw new JsonError(`${name}: unknown parameter`);
      if (index < segments.length - 1 && field.fieldKind === "message") {
        target = (target[field.jsonName] ??= Object.create(null)) as JsonObject;
        message = field.message;
        continue;
      }
      const isBool = "scalar" in field && field.scalar === ScalarType.BOOL;
      const leaf: JsonValue = isBool && (value === "true" || value === "false") ? value === "true" : value;
      if (field.fieldKind === "list") ((target[field.jsonName] ??= []) as JsonValue[]).push(leaf);
      else if (field.jsonName in target) throw new JsonError(`${name}: given more than once`);
      else target[field.jsonName] = leaf;
    }
  }
  return root;
}
