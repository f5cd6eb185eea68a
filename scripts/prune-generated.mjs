/**
 * Removes the parts of the generated code that nothing calls. Of a message: its type, `encode`,
 * `decode`, `create` and `fromPartial`. Of a method: the functions that only its client needs. Also
 * enums, and whole files. The code that imports generated names determines what is called. So when
 * that code calls more or less, run `npm run generate` again.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

const GENERATED = "src/gen";
const CALLERS = ["src", "gateway", "services", "cli", "test", "bench"];
/** Functions whose argument is the definition of a service: its methods are served, not called. */
const SERVING = new Set(["part", "serve"]);
/** The members of a method that serving it needs. */
const SERVED = new Set(["path", "requestStream", "responseStream", "requestDeserialize", "responseSerialize"]);

/** The end of the text that ts-proto writes before a file's imports. */
const AFTER_HEADER = "/* eslint-disable */\n";

/** Prunes the generated files. */
export function pruneGenerated() {
  const files = new Map(sourcesIn(GENERATED).map((file) => [file, new Generated(parse(file))]));
  const live = new Live(files);
  for (const folder of CALLERS) {
    for (const file of sourcesIn(folder)) if (importsGenerated(file)) live.addCaller(parse(file));
  }
  for (const [file, { source }] of files) {
    const code = live.textOf(file);
    if (code === undefined) rmSync(file);
    else if (code !== source.text) writeFileSync(file, code);
  }
}

function sourcesIn(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => /\.tsx?$/.test(name));
  return names.map((name) => join(folder, name)).sort();
}

function importsGenerated(file) {
  return !file.startsWith(`${GENERATED}/`) && readFileSync(file, "utf8").includes("/gen/");
}

function parse(file) {
  return ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
}

/** A generated file: its declarations by name. A name may have a type and a value. */
class Generated {
  constructor(source) {
    this.source = source;
    this.declarations = new Map();
    for (const statement of source.statements) {
      const [declared] = statement.declarationList?.declarations ?? [statement];
      const name = declared.name?.text;
      if (name === undefined) continue;
      this.declarations.set(name, [...(this.declarations.get(name) ?? []), statement]);
    }
    this.imports = importsOf(source);
  }
}

/** The generated names that a file imports: local name → file and name in that file. */
function importsOf(source) {
  const imports = new Map();
  for (const statement of source.statements.filter(ts.isImportDeclaration)) {
    const file = normalize(join(dirname(source.fileName), statement.moduleSpecifier.text)).replace(/\.js$/, ".ts");
    if (!file.startsWith(`${GENERATED}/`)) continue;
    for (const { name, propertyName } of statement.importClause?.namedBindings?.elements ?? []) {
      imports.set(name.text, { file, name: (propertyName ?? name).text });
    }
  }
  return imports;
}

/** The generated code that is called, directly or by other code that is called. */
class Live {
  #files;
  /** Statements, and members of objects, that are called. */
  #nodes = new Set();

  constructor(files) {
    this.#files = files;
  }

  /** Adds what a file that is not generated calls. */
  addCaller(source) {
    const imports = importsOf(source);
    this.#addReferences(source, (name) => imports.get(name));
  }

  /** Adds the declarations that the identifiers in a node refer to. */
  #addReferences(root, resolve) {
    const visit = (node) => {
      if (ts.isImportDeclaration(node)) return;
      if (ts.isIdentifier(node)) {
        const found = isName(node) ? undefined : resolve(node.text);
        if (found !== undefined) this.#addName(found.file, found.name, node);
      }
      ts.forEachChild(node, visit);
    };
    visit(root);
  }

  #addName(file, name, use) {
    const generated = this.#files.get(file);
    const resolve = (text) => (generated.declarations.has(text) ? { file, name: text } : generated.imports.get(text));
    for (const statement of generated?.declarations.get(name) ?? []) {
      const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
      if (isType !== isTypeUse(use)) continue;
      const object = objectOf(statement);
      if (object === undefined) this.#add(statement, resolve);
      else {
        this.#nodes.add(statement);
        for (const member of membersUsed(object, use)) this.#add(member, resolve);
      }
    }
  }

  #add(node, resolve) {
    if (this.#nodes.has(node)) return;
    this.#nodes.add(node);
    if (innerOf(node) === undefined) this.#addReferences(node, resolve);
  }

  /**
   * The code of a file without the parts that are not called, or undefined when nothing is called.
   */
  textOf(file) {
    const { source, declarations } = this.#files.get(file);
    const statements = [...declarations.values()].flat();
    if (!statements.some((statement) => this.#nodes.has(statement))) return undefined;
    const cuts = statements.flatMap((statement) =>
      this.#nodes.has(statement) ? this.#cutsIn(statement) : [spanOf(statement)],
    );
    return withoutUnusedImports(without(source.text, cuts));
  }

  #cutsIn(statement) {
    const object = objectOf(statement);
    if (object === undefined) return [];
    const [{ name, type }] = statement.declarationList.declarations;
    const dead = membersOf(object).filter((member) => !this.#nodes.has(member));
    const annotation = type === undefined ? [] : [[name.end, type.end]];
    return [...annotation, ...dead.map(spanOf)];
  }
}

/**
 * The object that a statement declares: the functions of a message, or the methods of a service.
 */
function objectOf(statement) {
  let value = statement.declarationList?.declarations[0]?.initializer;
  if (value !== undefined && ts.isAsExpression(value)) value = value.expression;
  return value !== undefined && ts.isObjectLiteralExpression(value) ? value : undefined;
}

/** The object that is the value of an object's member. */
function innerOf(member) {
  const value = ts.isPropertyAssignment(member) ? member.initializer : undefined;
  return value !== undefined && ts.isObjectLiteralExpression(value) ? value : undefined;
}

/** The members of an object, and of the objects in it. */
function membersOf(object) {
  return (object?.properties ?? []).flatMap((member) => [member, ...membersOf(innerOf(member))]);
}

/** The members of an object that are needed by one use of its name. */
function membersUsed(object, use) {
  const { parent } = use;
  const all = membersOf(object);
  if (ts.isPropertyAccessExpression(parent) && parent.expression === use) {
    const isUsed = (node) => node.name?.text === parent.name.text;
    return all.filter((member) => isUsed(member) || isUsed(member.parent.parent));
  }
  const isServed = ts.isCallExpression(parent) && SERVING.has(parent.expression.text) && parent.arguments[0] === use;
  return isServed ? all.filter((member) => innerOf(member) !== undefined || SERVED.has(member.name.text)) : all;
}

/** Whether an identifier is only the name in a declaration or of a member. */
function isName(node) {
  const { parent } = node;
  if (ts.isExportSpecifier(parent)) return (parent.propertyName ?? parent.name) !== node;
  return parent.name === node && !ts.isShorthandPropertyAssignment(parent);
}

/** Whether an identifier is used as a type. `typeof` needs the value. */
function isTypeUse({ parent }) {
  return ts.isTypeReferenceNode(parent) || ts.isExpressionWithTypeArguments(parent);
}

/** From the comment before a node to the comma after it. */
function spanOf(node) {
  const { text } = node.getSourceFile();
  const header = text.indexOf(AFTER_HEADER) + AFTER_HEADER.length;
  return [Math.max(node.getFullStart(), header), text[node.end] === "," ? node.end + 1 : node.end];
}

/** A text without some spans. A span may contain another one. */
function without(text, spans) {
  let kept = "";
  let at = 0;
  for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
    if (start >= at) kept += text.slice(at, start);
    at = Math.max(at, end);
  }
  return `${(kept + text.slice(at)).replace(/\n{3,}/g, "\n\n").trimEnd()}\n`;
}

/** A name that is used only as a type is imported as a type. */
function withoutUnusedImports(text) {
  const values = new Set();
  const types = new Set();
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isIdentifier(node) && !isName(node)) (isTypeUse(node) ? types : values).add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("pruned.ts", text, ts.ScriptTarget.Latest, true));
  return text.replace(/^import \{ (.*) \} from (".*");\n/gm, (_, names, from) => {
    const used = names.split(", ").flatMap((name) => {
      const local = name.split(" ").at(-1);
      if (values.has(local)) return [name];
      return types.has(local) ? [`type ${name}`] : [];
    });
    return used.length === 0 ? "" : `import { ${used.join(", ")} } from ${from};\n`;
  });
}
