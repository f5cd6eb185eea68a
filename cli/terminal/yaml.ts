/** YAML text, with control characters as escapes. */
import { Document, parse, visit } from "yaml";
import { visibleLines } from "./text.js";

export function toYaml(value: unknown): string {
  return printDocument(new Document(value));
}

export function printDocument(document: Document): string {
  visit(document, {
    Scalar(_, node) {
      // Only double-quoted scalars have escapes.
      if (typeof node.value === "string" && visibleLines(node.value) !== node.value) node.type = "QUOTE_DOUBLE";
    },
  });
  return visibleLines(document.toString());
}

/** Converts JSON text to YAML. Integers that JSON.parse would round keep every digit. */
export function jsonToYaml(json: string): string {
  return toYaml(parse(json, { intAsBigInt: true }));
}
