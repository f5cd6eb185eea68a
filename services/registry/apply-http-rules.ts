/**
 * Puts HTTP rules into descriptors, as annotations `google.api.http` of the methods that they
 * select. Authorities apply the rules when they read a contract, and gateways when they verify that
 * a connection has it. Only the declarations of gRPC services are read.
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { headOf, nameOf } from "../../src/contract/descriptor-set.js";
import { HTTP } from "../../src/contract/http-rule.js";
import { asBuffer } from "../../src/wire/buffer.js";
import { MAX_DESCRIPTORS } from "./contract.js";
import type { HttpRules, SelectingRule } from "./http-rules.js";
import type { ReflectedContract } from "./reflection-client.js";

/** Field numbers in descriptor.proto. */
const FILE = 1;
const SERVICE = 6;
const METHOD = 2;
const OPTIONS = 4;

/** The maximum number of selectors that a problem names. */
const MAX_NAMED = 5;

/**
 * The contract with the rules instead of the annotations of the methods that they select.
 * @returns `problems`: why rules select nothing, for the operator
 * @throws {Error} if the descriptors are malformed, or larger than accepted with the rules
 */
export function applyHttpRules(
  { descriptors, grpcServices }: ReflectedContract,
  { rules, json }: HttpRules,
): { readonly descriptors: Buffer; readonly problems: readonly string[] } {
  if (rules.length === 0) return { descriptors, problems: [] };
  const selection = new Selection(rules);
  const own = new Set(grpcServices);
  const changed = withField(descriptors, FILE, (file) => {
    const { scope } = headOf(file);
    return withField(file, SERVICE, (service) => {
      const name = scope === "" ? nameOf(service) : `${scope}.${nameOf(service)}`;
      if (!own.has(name)) return service;
      return withField(service, METHOD, (method) => {
        const rule = selection.find(`${name}.${nameOf(method)}`);
        return rule === undefined ? method : annotated(method, rule.bytes);
      });
    });
  });
  // Gateways get both in one message.
  const size = changed.length + Buffer.byteLength(json);
  if (size > MAX_DESCRIPTORS)
    throw new Error(`descriptors and httpRules are ${size} bytes; at most ${MAX_DESCRIPTORS} are accepted`);
  return { descriptors: asBuffer(changed), problems: selection.problems };
}

/** Finds the rule of each method. The last rule that selects a method counts. */
class Selection {
  readonly #rules: readonly SelectingRule[];
  /** The index of the last rule with each pattern. */
  readonly #byPattern = new Map<string, number>();
  readonly #unused: Set<string>;

  constructor(rules: readonly SelectingRule[]) {
    this.#rules = rules;
    for (const [index, { patterns }] of rules.entries()) {
      for (const pattern of patterns) this.#byPattern.set(pattern, index);
    }
    this.#unused = new Set(this.#byPattern.keys());
  }

  find(method: string): SelectingRule | undefined {
    let last = -1;
    for (const pattern of patternsFor(method)) {
      const index = this.#byPattern.get(pattern);
      if (index === undefined) continue;
      this.#unused.delete(pattern);
      last = Math.max(last, index);
    }
    return this.#rules[last];
  }

  get problems(): string[] {
    if (this.#unused.size === 0) return [];
    const named = [...this.#unused].slice(0, MAX_NAMED).join(", ");
    const others = this.#unused.size - MAX_NAMED;
    return [`httpRules select no method by ${named}${others > 0 ? ` and ${others} more` : ""}`];
  }
}

/** All patterns that select a method: `a.B.C`, `a.B.*`, `a.*` and `*`. */
function* patternsFor(method: string): Generator<string> {
  yield method;
  for (let dot = method.lastIndexOf("."); dot >= 0; dot = method.lastIndexOf(".", dot - 1)) {
    yield `${method.slice(0, dot)}.*`;
    if (dot === 0) break;
  }
  yield "*";
}

/** The message, where each occurrence of a length-delimited field is changed. */
function withField(message: Uint8Array, number: number, change: (content: Uint8Array) => Uint8Array): Uint8Array {
  const reader = new BinaryReader(message);
  const writer = new BinaryWriter();
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    const isField = field === number && wireType === WireType.LengthDelimited;
    if (isField) writer.tag(number, wireType).bytes(change(reader.bytes()));
    else {
      reader.skip(wireType, field);
      writer.raw(message.subarray(start, reader.pos));
    }
  }
  return writer.finish();
}

/** A message without a length-delimited field, and the contents of the field. */
function withoutField(message: Uint8Array, number: number): { readonly rest: Buffer; readonly content: Uint8Array[] } {
  const rest: Uint8Array[] = [];
  const content: Uint8Array[] = [];
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field === number && wireType === WireType.LengthDelimited) content.push(reader.bytes());
    else {
      reader.skip(wireType, field);
      rest.push(message.subarray(start, reader.pos));
    }
  }
  return { rest: Buffer.concat(rest), content };
}

/** A google.protobuf.MethodDescriptorProto with this annotation instead of its own. */
function annotated(method: Uint8Array, rule: Uint8Array): Uint8Array {
  const { rest, content } = withoutField(method, OPTIONS);
  const { rest: options } = withoutField(Buffer.concat(content), HTTP);
  const writer = new BinaryWriter().raw(options).tag(HTTP, WireType.LengthDelimited).bytes(rule);
  return new BinaryWriter().raw(rest).tag(OPTIONS, WireType.LengthDelimited).bytes(writer.finish()).finish();
}
