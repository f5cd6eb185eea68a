/** Writes a configuration as a YAML file with comments. */
import { Document, isMap } from "yaml";
import { printDocument } from "../terminal/yaml.js";
import { itemsIn, SECTIONS, statedFields } from "./sections.js";

/** The name of the schema beside the file. */
export const SCHEMA_FILE = "portico.schema.json";

const HEADER = ` yaml-language-server: $schema=${SCHEMA_FILE}

 The configuration of a namespace of Portico. What would this file change, and whose calls?
   portico diff -f FILE
 Change all of it, or nothing:
   portico apply -f FILE
 A section that is not here stays as it is. The schema for editors:
   portico export --schema > ${SCHEMA_FILE}`;

/** @param configuration as the API has it; absent sections are left out */
export function writeConfiguration(configuration: object): string {
  const sections = SECTIONS.flatMap((section) => {
    const items = itemsIn(configuration, section);
    return items === undefined ? [] : [{ section, items }];
  });
  const content = sections.map(({ section, items }) => [
    section.name,
    items.map((item) => Object.fromEntries(statedFields(section, item))),
  ]);
  const document = new Document(Object.fromEntries(content));
  document.commentBefore = HEADER;
  if (isMap(document.contents)) {
    for (const [index, pair] of document.contents.items.entries()) {
      const key = pair.key as { commentBefore?: string; spaceBefore?: boolean };
      key.commentBefore = ` ${sections[index]!.section.about}`;
      key.spaceBefore = index > 0;
    }
  }
  return printDocument(document);
}
