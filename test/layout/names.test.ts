// A type name has one meaning: no two files export it. Pages of the browser and generated clients
// are excluded, because they are read on their own. Names of messages and of `portico/client` are
// promised, so a type of ours with such a name is an exception with a reason.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";

const ROOTS = ["src", "gateway", "services", "cli"];
const APART = /^(?:src\/gen|src\/client|gateway\/web)\//;
const EXPORTED = /^export (?:abstract )?(?:interface|class|type|enum) (\w+)/gm;

/** Types of ours with the name of a message, or of a type of `portico/client`. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["CallOptions", "the same for gRPC calls inside as portico/client has for HTTP calls"],
  ["Caller", "the caller that the message describes, as the guard knows it"],
  ["Client", "the message is a client of OAuth; the type calls a gateway"],
  ["End", "the message is an end of a list in the service lists, which only that service reads"],
  ["Endpoint", "the endpoint that the message describes, with its parsed types"],
  ["Entry", "exported by portico/service"],
  ["ErrorObject", "the JSON that portico/client reads, as the gateway writes it"],
  ["Format", "the enum belongs to the service qr, which only that service reads"],
  ["GrpcNames", "the names that the message carries, as the log has them"],
  ["HttpBody", "the google.api.HttpBody that portico/client sends, as the gateway reads it"],
  ["Instance", "the instance that the message describes, as the balancer calls it"],
  ["Joined", "the enum says how a process has joined; the type is what it then has"],
  ["JsonObject", "the same type: services import nothing of portico/client"],
  ["LimitSet", "the message is an entry of the log; the type is the limits of a namespace"],
  ["Login", "the message is the record of the login whose token the command line stores"],
  ["RevisedLimit", "the limit that the message describes, which is always there"],
  ["Service", "the service that the message describes, with its code"],
  ["Status", "the google.rpc.Status of a call, before it is encoded"],
  ["Token", "a token of JSON's grammar (RFC 8259 §2); the message is an access token in the log"],
]);

/** The files that export each type, by its name. */
function exportersOf(files: ReadonlyMap<string, string>): Map<string, string[]> {
  const exporters = new Map<string, string[]>();
  for (const [file, text] of files) {
    for (const [, name = ""] of text.matchAll(EXPORTED)) exporters.set(name, [...(exporters.get(name) ?? []), file]);
  }
  return exporters;
}

const files = new Map(
  ROOTS.flatMap((root) => readdirSync(root, { recursive: true, encoding: "utf8" }).map((name) => join(root, name)))
    .filter((file) => /\.tsx?$/.test(file) && !APART.test(file))
    .map((file): [string, string] => [file, readFileSync(file, "utf8")])
    .filter(([, text]) => !text.startsWith("// Generated")),
);

t.test("no two files export the same type name", async (t) => {
  t.same(
    [...exportersOf(files)]
      .filter(([, where]) => where.length > 1)
      .map(([name, where]) => `${name}: ${where.join(", ")}`),
    [],
  );
  const twice = new Map([
    ["a.ts", "export interface Page<T> {"],
    ["b.ts", "export class Page {"],
  ]);
  t.same([...exportersOf(twice)], [["Page", ["a.ts", "b.ts"]]], "one would be seen");
});

t.test("a type has the name of a message or of portico/client only for a reason", async (t) => {
  const promised = ["src/gen", "src/client"].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !(root === "src/client" && name.startsWith("gen")))
      .map((name): [string, string] => [name, readFileSync(join(root, name), "utf8")]),
  );
  const taken = exportersOf(new Map(promised));
  t.same([...exportersOf(files).keys()].filter((name) => taken.has(name)).sort(), [...EXCEPTIONS.keys()]);
});
