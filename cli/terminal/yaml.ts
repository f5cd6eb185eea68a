/** A value as YAML, with every character that a terminal would act on escaped. */
import { Document, parse, visit } from "yaml";
import { visibleLines } from "./text.js";

export function toYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_, node) {
      // Only double quotes know escapes.
      if (typeof node.value === "string" && visibleLines(node.value) !== node.value) node.type = "QUOTE_DOUBLE";
    },
  });
  return visibleLines(document.toString());
}

/** The same of JSON text, with every digit of its integers, which JSON.parse would round. */
export function jsonToYaml(json: string): string {
  return toYaml(parse(json, { intAsBigInt: true }));
}
