// Neither names nor comments of a contract become code in a client.
import t from "tap";
import ts from "typescript";
import { readContract } from "../../../cli/client/contract.js";
import { writeGo } from "../../../cli/client/go.js";
import { writePython } from "../../../cli/client/python.js";
import { writeTypescript } from "../../../cli/client/typescript.js";
import { hostileDocument } from "./hostile.js";

const hostile = readContract("hostile", hostileDocument());
/** The same names, with a harmless comment. */
const harmless = readContract("hostile", hostileDocument("Says nothing."));

/** The tokens of a TypeScript text without its comments. */
function tokensOf(text: string): string[] {
  const scanner = ts.createScanner(ts.ScriptTarget.ES2023, true, ts.LanguageVariant.Standard, text);
  const tokens: string[] = [];
  while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken) tokens.push(scanner.getTokenText());
  return tokens;
}

/** The lines of a Go or Python text without comments. Each string literal is one token. */
const withoutGoComments = (text: string) => text.replace(/^\s*\/\/.*\n/gm, "").replace(/\n+/g, "\n");
const withoutDocstrings = (text: string) => text.replace(/^ *"""(?:[^"\\]|\\.)*"""\n/gms, "").replace(/\n+/g, "\n");

t.test("comments do not change the code", async (t) => {
  t.same(tokensOf(writeTypescript(hostile)), tokensOf(writeTypescript(harmless)), "in TypeScript");
  t.equal(withoutDocstrings(writePython(hostile)), withoutDocstrings(writePython(harmless)), "in Python");
  t.equal(withoutGoComments(writeGo(hostile)), withoutGoComments(writeGo(harmless)), "in Go");
});

t.test("names are quoted, or consist of letters", async (t) => {
  for (const write of [writeTypescript, writePython, writeGo]) {
    const text = write(harmless).replace(/"(?:[^"\\\n]|\\.)*"|`[^`\n]*`/g, '""');
    t.notMatch(text, /[^\x20-\x7e\n\t]/, write.name);
  }
});

t.test("in TypeScript, a client has only types, two tables and one class", async (t) => {
  const source = ts.createSourceFile("hostile.ts", writeTypescript(hostile), ts.ScriptTarget.ES2023);
  const kinds = new Set(source.statements.map(({ kind }) => ts.SyntaxKind[kind]));
  t.same([...kinds].sort(), ["ClassDeclaration", "FirstStatement", "InterfaceDeclaration", "TypeAliasDeclaration"]);
  const values = source.statements.filter((one) => ts.isVariableStatement(one) || ts.isClassDeclaration(one));
  t.equal(values.length, 3);
});

t.test("a path that a gateway cannot have is rejected", async (t) => {
  for (const path of [
    "@evil.example/x",
    "//evil.example/x",
    "/a/../b",
    "/a/b?c",
    "/a/b/c/d",
    "/ab",
    "/auth/Login",
    '/a/b"',
    "/a b/c",
  ]) {
    const document = JSON.stringify({ info: {}, paths: { [path]: { post: {} } }, components: { schemas: {} } });
    t.throws(() => readContract("a", document), /a path that is none of Portico's/, path);
  }
});

t.test("a service name that could be a path is rejected", async (t) => {
  for (const name of ["../a", "a/b", "", "A", "a.b"]) {
    t.throws(() => readContract(name, hostileDocument()), /There is no service/, name);
  }
});
