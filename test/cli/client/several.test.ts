// cli/client/files.ts: a client of several services is one file, with one runtime.
import { readFileSync } from "node:fs";
import t from "tap";
import ts from "typescript";
import { readContract } from "../../../cli/client/contract.js";
import { writeGo } from "../../../cli/client/go.js";
import { writePython } from "../../../cli/client/python.js";
import { writeTypescript } from "../../../cli/client/typescript.js";

const contractOf = (name: string) => readContract(name, readFileSync(`spec/${name}.json`, "utf8"));
const [lists, notes, id] = [contractOf("lists"), contractOf("notes"), contractOf("id")];

/** The types and constants that a text declares at its top level. */
const DECLARED = {
  TypeScript: /^export (?:interface|type|const|class) (\w+)/gm,
  Python: /^class (\w+)/gm,
  Go: /^(?:type|const) (\w+)/gm,
};
const WRITERS = [
  ["TypeScript", writeTypescript],
  ["Python", writePython],
  ["Go", writeGo],
] as const;

for (const [language, write] of WRITERS) {
  t.test(
    `${language}: each name is declared once, and a name of several services begins with the service's`,
    async (t) => {
      const declared = Array.from(write(lists, notes, id).matchAll(DECLARED[language]), ([, name]) => name);
      t.same(declared, [...new Set(declared)]);
      const alone = new Set(Array.from(write(id).matchAll(DECLARED[language]), ([, name]) => name));
      t.ok(declared.includes("ListsListRequest") && declared.includes("NotesListRequest"), `${declared}`);
      t.notOk(declared.includes("ListRequest"));
      t.same(
        [...alone].filter((name) => !declared.includes(name)),
        [],
        "names that only one service has stay as they are",
      );
    },
  );
}

t.test("the client has each service as a member", async (t) => {
  const text = writeTypescript(lists, notes);
  t.match(text, /A client of Portico with the services lists, notes\. /);
  t.match(text, /readonly lists: Lists = this\.bind\("lists", listsEndpoints\);/);
  t.match(text, /readonly notes: Notes = this\.bind\("notes", notesEndpoints\);/);
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
  t.same(diagnostics, []);
  t.match(
    writePython(lists, notes),
    /def _bind\(self\) -> None:\n {8}self\.lists = Lists\(self\)\n {8}self\.notes = Notes\(self\)\n/,
  );
  t.match(writeGo(lists, notes), /type Client struct {\n\tLists \*ListsService\n\tNotes \*NotesService\n}/);
});
