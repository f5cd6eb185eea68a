// The syntax of path templates, and the values of their variables. Most cases come from the
// behaviour that grpc-gateway (internal/httprule), the transcoding library of Envoy
// (http_template_test) and Vanguard (path_parser_test) test.
import t from "tap";
import { ONE, parsePathTemplate, REST, type Segment, shapeOf, valuesOf } from "../../src/contract/path-template.js";

type Parsed = readonly [template: string, segments: readonly Segment[], variables?: readonly string[], verb?: string];

/** A variable is written `field start end`, or `field start end multi`. */
const PARSED: readonly Parsed[] = [
  ["/shelves/{shelf}/books/{book}", ["shelves", ONE, "books", ONE], ["shelf 1 2", "book 3 4"]],
  ["/shelves/**", ["shelves", REST]],
  ["/**", [REST]],
  ["/*", [ONE]],
  ["/*/**", [ONE, REST]],
  ["/*/a/**", [ONE, "a", REST]],
  ["/a/{a.b.c}", ["a", ONE], ["a.b.c 1 2"]],
  ["/a/{a.b.c=*}", ["a", ONE], ["a.b.c 1 2"]],
  ["/a/{b=**}", ["a", REST], ["b 1 2 multi"]],
  ["/a/{b=c/*}", ["a", "c", ONE], ["b 1 3 multi"]],
  ["/a/{b=c/*/d}", ["a", "c", ONE, "d"], ["b 1 4 multi"]],
  ["/a/{b=c}", ["a", "c"], ["b 1 2"]],
  // Literals and * may follow **, because the API of Firestore needs it. In http.proto ** must be
  // last, and Envoy refuses the *.
  ["/v1/{parent=documents/**}/{id}", ["v1", "documents", REST, ONE], ["parent 1 3 multi", "id 3 4"]],
  ["/a/**/foo/*", ["a", REST, "foo", ONE]],
  ["/a/{b=c/**}/d/e", ["a", "c", REST, "d", "e"], ["b 1 3 multi"]],
  ["/a/{b=c/**/d}/e:verb", ["a", "c", REST, "d", "e"], ["b 1 4 multi"], "verb"],
  ["/{x.y.z=*/a/b}/c", [ONE, "a", "b", "c"], ["x.y.z 0 3 multi"]],
  ["/v1/{bucket_name=buckets/*}/o/{name}", ["v1", "buckets", ONE, "o", ONE], ["bucket_name 1 3 multi", "name 4 5"]],
  ["/foo/bar/*/{thing.id}/{cat=**}:do", ["foo", "bar", ONE, ONE, REST], ["thing.id 3 4", "cat 4 5 multi"], "do"],
  ["/a:foo", ["a"], [], "foo"],
  ["/a/b/c:foo", ["a", "b", "c"], [], "foo"],
  ["/*:verb", [ONE], [], "verb"],
  ["/**:verb", [REST], [], "verb"],
  ["/{a}:verb", [ONE], ["a 0 1"], "verb"],
  ["/v1/a/{endpoint}:b:c", ["v1", "a", ONE], ["endpoint 2 3"], "b:c"],
  // Only the last segment can have a verb.
  ["/v1/a=b&c=d;e=f:g/endpoint.rdf", ["v1", "a=b&c=d;e=f:g", "endpoint.rdf"]],
  ["/-._~!$&'()*+,;=@", ["-._~!$&'()*+,;=@"]],
  // Literals are compared after decoding.
  ["/%e7%ac%ac%e4%b8%80%e7%89%88", ["第一版"]],
  ["/foo%2Fbar/%2A/%2A%2a:%2c", ["foo/bar", "*", "**"], [], ","],
];

t.test("a template has segments, variables and a verb", async (t) => {
  for (const [text, segments, variables = [], verb = ""] of PARSED) {
    const template = parsePathTemplate(text);
    t.strictSame(template.segments, segments, text);
    const read = template.variables.map(({ fieldPath, start, end, isMulti }) =>
      [fieldPath.join("."), start, end, ...(isMulti ? ["multi"] : [])].join(" "),
    );
    t.strictSame(read, variables, `the variables of ${text}`);
    t.equal(template.verb, verb, `the verb of ${text}`);
  }
});

const REFUSED: readonly (readonly [why: RegExp, templates: readonly string[]])[] = [
  [/must begin with \//, ["", "a", "{x}", "a/b", "a/{x}/b:verb", ":verb", ":", "{x=/a}"]],
  [
    /an empty segment or verb/,
    ["/", "//", "/a/", "/a//b", "/:verb", "/a/:verb", "/:", "/a/*:", "/**:", "/{var}:", "/a/{var=/b}", "/a/{b=}"],
  ],
  [/has a { without }/, ["/a/{", "/a/{var", "/a/{var.", "/{name=", "/{name=*"]],
  [/which is no field/, ["/{}", "/{name.}", "/{name..nested}", "/{field-name}", "/{=*}", "/{1a}"]],
  [/a variable within a variable/, ["/{var=a/{nested=b}}", "/a/{b={c}/*}"]],
  [/text after a variable's }/, ["/{x}a", "/{x}a{y}", "/a/{x}b/s", "/a/{x}b{y}/s"]],
  [
    /only have percent-encoded/,
    ["/a{x}", "/a{x}b", "/a/b{x}/s", "/a?b", "/%", "/%2", "/a%2z", "/a b", "/第一版", "/a}"],
  ],
  [/a colon within a variable/, ["/a/{x=var:verb}"]],
  [/not UTF-8/, ["/%ff"]],
  [/the variable a twice/, ["/{a}/{a}"]],
  [/a second \*\*/, ["/a/**/**", "/a/**/foo/**", "/{x=**}/{y=**}"]],
  [/more than 64 segments/, [`/${Array(65).fill("a").join("/")}`]],
  [/longer than 1024 characters/, [`/${"a".repeat(1024)}`]],
];

t.test("a template that is none is refused with what is wrong", async (t) => {
  for (const [why, templates] of REFUSED) {
    for (const text of templates) t.throws(() => parsePathTemplate(text), { name: "SyntaxError", message: why }, text);
  }
});

type Valued = readonly [template: string, path: string, values: readonly string[] | undefined];

const VALUED: readonly Valued[] = [
  ["/a/{x}/c", "/a/p%20q%2Fr/c", ["p q/r"]],
  // In a path, a plus does not mean a space.
  ["/a/{x}", "/a/p+q", ["p+q"]],
  ["/a/{x}", "/a/%E7%AC%AC", ["第"]],
  // In a variable of several segments %2F is not decoded, as http.proto requires. By default,
  // grpc-gateway decodes reserved characters.
  ["/a/{x=p/*/q/*}/c", "/a/p/foo%20foo/q/bar%2Fbar/c", ["p/foo foo/q/bar%2Fbar"]],
  ["/a/{x=**}/c", "/a/p/foo%20foo/q/bar%2fbar/c", ["p/foo foo/q/bar%2fbar"]],
  [
    "/a/{x=*}/{y=**}/c",
    "/a/%21%23%24%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D/%21%23%24%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D/c",
    ["!#$&'()*+,/:;=?@[]", "!#$&'()*+,%2F:;=?@[]"],
  ],
  ["/a/{x=**}", "/a", [""]],
  ["/v1/{name=o/**}", "/v1/o", ["o"]],
  ["/v1/{name=o/**}", "/v1/o/my-bucket/dir/dir2/obj", ["o/my-bucket/dir/dir2/obj"]],
  ["/v1/{name=o/**/.ext}/tail", "/v1/o/my-bucket/dir/dir2/obj/.ext/tail", ["o/my-bucket/dir/dir2/obj/.ext"]],
  ["/v1/**/{end=z}", "/v1/a/b/z", ["z"]],
  ["/v1/{parent=documents/**}/{id}", "/v1/documents/a/b%2Fc/d%2Fe", ["documents/a/b%2Fc", "d/e"]],
  ["/v1/{parent=documents/**}/{id}", "/v1/documents/d", ["documents", "d"]],
  ["/a/{x=**}", "/a//b/", ["/b/"]],
  ["/a/{x}", "/a/%zz", undefined],
  ["/a/{x}", "/a/%ff", undefined],
  ["/a/{x=**}", "/a/b/%ff", undefined],
];

t.test("a variable has the text of its segments, decoded", async (t) => {
  for (const [text, path, values] of VALUED) {
    t.strictSame(valuesOf(parsePathTemplate(text), path.slice(1).split("/")), values, `${text} in ${path}`);
  }
});

t.test("templates of one shape match the same paths", async (t) => {
  const shapes = ["/v1/{a}/x:go", "/v1/{b.c=*}/x:go", "/v1/*/%78:go"].map((text) => shapeOf(parsePathTemplate(text)));
  t.strictSame(shapes, ["/v1/*/x:go", "/v1/*/x:go", "/v1/*/x:go"]);
  t.equal(shapeOf(parsePathTemplate("/%2A/**/a%2Fb")), "/%2A/**/a%2Fb", "a literal is never taken for a wildcard");
});
