// What a request at a binding's path becomes: fields from the path, the body and the query, and the
// form of the response.
import t from "tap";
import { ask, deploy } from "../../deployment.js";
import { createLibrary } from "./library.js";

const { handler, close } = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createLibrary()] });
t.teardown(close);

interface Case {
  readonly title: string;
  readonly method?: string;
  readonly target: string;
  readonly body?: string;
  readonly type?: string;
  /** The fields of the request that arrived, except fields that are zero. */
  readonly arrives?: object;
  /** The body of the response, if it is not the request. */
  readonly responses?: string;
  readonly refused?: readonly [status: number, detail: RegExp];
}

const CASES: readonly Case[] = [
  { title: "a variable of several segments", target: "/lib/shelves/1", arrives: { name: "shelves/1" } },
  {
    title: "variables of the request and of a message in it, and the query for the rest",
    target: "/lib/shelves/7/books/b1?book.title=T&tags=x&tags=y&pageSize=3",
    arrives: { shelf: "7", book: { id: "b1", title: "T" }, tags: ["x", "y"], pageSize: 3 },
  },
  {
    title: "the names of the .proto file in a query",
    target: "/lib/shelves/1?page_size=5",
    arrives: { name: "shelves/1", pageSize: 5 },
  },
  {
    title: "a field that the path sets is not set by the query",
    target: "/lib/shelves/7/books/b1?shelf=8&book.id=other&book.name=n",
    arrives: { shelf: "7", book: { id: "b1", name: "n" } },
  },
  {
    title: "%2F in a variable of one segment",
    target: "/lib/all/a%2Fb%20c",
    method: "PUT",
    arrives: { name: "a/b c" },
  },
  { title: "%2F in a variable of several segments", target: "/lib/files/a%2Fb/c%20d", arrives: { name: "a%2Fb/c d" } },
  { title: "** of no segments", target: "/lib/files" },
  {
    title: "leaf types in a path are read as in JSON",
    target: "/lib/at/2026-11-22T10:00:00Z/42/NOVEL/true/AAH_",
    arrives: { since: "2026-11-22T10:00:00Z", number: 42, kind: "NOVEL", flag: true, data: "AAH/" },
  },
  {
    title: "a value in a path that is not a number",
    target: "/lib/shelves/x/books/b",
    refused: [400, /^shelf: expected an integer/],
  },
  { title: "an unknown parameter", target: "/lib/shelves/1?shelves=2", refused: [400, /^shelves: no such parameter/] },
  {
    title: "a repeated parameter of a scalar",
    target: "/lib/shelves/1?pageSize=1&pageSize=2",
    refused: [400, /^pageSize: given more than once/],
  },
  {
    title: "maps in the query, with keys of any characters",
    target: "/lib/shelves/1?labels[a]=b&labels%5Bc.d%20%C3%A4%5D=e%3Df&labels[]=z&byNumber[-7]=x&by_flag[true]=1",
    arrives: {
      name: "shelves/1",
      labels: { a: "b", "c.d ä": "e=f", "": "z" },
      byNumber: { "-7": "x" },
      byFlag: { true: 1 },
    },
  },
  {
    title: "a map of messages in the query",
    target: "/lib/shelves/1?byId[a].title=b&byId[a].author.name=c&byId[d].id=e",
    arrives: { name: "shelves/1", byId: { a: { title: "b", author: { name: "c" } }, d: { id: "e" } } },
  },
  {
    title: "a map of messages in addition to a body",
    method: "POST",
    target: "/lib/shelves/4/books?byId[a].title=b&labels[c]=d",
    body: '{"id":"1"}',
    arrives: { shelf: "4", book: { id: "1" }, labels: { c: "d" }, byId: { a: { title: "b" } } },
  },
  {
    title: "a key of a map twice",
    target: "/lib/shelves/1?labels[a]=b&labels[a]=c",
    refused: [400, /^labels\[a\]: given more than once/],
  },
  {
    title: "a key of a map twice, written in two ways",
    target: "/lib/shelves/1?byNumber[1]=b&byNumber[1.0]=c",
    refused: [400, /^byNumber/],
  },
  {
    title: "a map's key that is no number",
    target: "/lib/shelves/1?byNumber[x]=b",
    refused: [400, /^byNumber/],
  },
  { title: "a map's key that is no boolean", target: "/lib/shelves/1?byFlag[1]=2", refused: [400, /^byFlag/] },
  {
    title: "a map without a key",
    target: "/lib/shelves/1?labels=b",
    refused: [400, /^labels: a map: name the key as in labels\[key\]/],
  },
  { title: "brackets at what is no map", target: "/lib/shelves/1?tags[a]=b", refused: [400, /^tags\[a\]: no such/] },
  {
    title: "a key of a map that is the body",
    method: "POST",
    target: "/lib/labels?labels[a]=b",
    body: '{"c":"d"}',
    refused: [400, /^labels\[a\]: this field is the body/],
  },
  {
    title: "a list of messages in the query",
    target: "/lib/shelves/1?books=x",
    refused: [400, /^books\[0\]: expected an object/],
  },
  {
    title: "another member of a oneof in the query",
    target: "/lib/left/a?right=b",
    refused: [400, /another member of the oneof choice/],
  },
  { title: "a percent-encoding that is not UTF-8", target: "/lib/shelves/%ff", refused: [400, /percent-encoding/] },
  { title: "a broken percent-encoding", target: "/lib/shelves/%f", refused: [400, /percent-encoding/] },
  { title: "a verb", method: "DELETE", target: "/lib/shelves/1:purge", arrives: { name: "shelves/1" } },
  {
    title: "a body at a path that reads none",
    target: "/lib/shelves/1:purge",
    method: "DELETE",
    body: "{}",
    refused: [400, /^DELETE reads no body/],
  },

  {
    title: "the whole body",
    method: "PUT",
    target: "/lib/all/n",
    body: '{"shelf":3,"labels":{"a":"b"},"books":[{"id":"1"}]}',
    arrives: { name: "n", shelf: "3", labels: { a: "b" }, books: [{ id: "1" }] },
  },
  {
    title: "a field that the path sets is not set by the body",
    method: "PUT",
    target: "/lib/all/n",
    body: '{"name":"m","shelf":1}',
    arrives: { name: "n", shelf: "1" },
  },
  { title: "an empty body", method: "POST", target: "/lib/all" },
  {
    title: "a query in addition to the whole body",
    method: "PUT",
    target: "/lib/all/n?shelf=1",
    body: "{}",
    refused: [400, /^No query is read/],
  },
  {
    title: "an unknown field in the body",
    method: "POST",
    target: "/lib/all",
    body: '{"nothing":1}',
    refused: [400, /^nothing: no such field/],
  },
  {
    title: "another content type",
    method: "POST",
    target: "/lib/all",
    body: "a=b",
    type: "application/x-www-form-urlencoded",
    refused: [415, /must be JSON/],
  },
  {
    title: "a message as the body, with its own name in the path",
    method: "PATCH",
    target: "/lib/shelves/1/books/2?tags=a",
    body: '{"name":"shelves/8/books/9","title":"T","author":{"name":"A"}}',
    arrives: { book: { name: "shelves/1/books/2", title: "T", author: { name: "A" } }, tags: ["a"] },
  },
  {
    title: "no body for a field",
    method: "PATCH",
    target: "/lib/shelves/1/books/2",
    arrives: { book: { name: "shelves/1/books/2" } },
  },
  { title: "null for a field", method: "POST", target: "/lib/shelves/4/books", body: "null", arrives: { shelf: "4" } },
  {
    title: "the body's field in the query",
    method: "POST",
    target: "/lib/shelves/4/books?book.id=1",
    body: "{}",
    refused: [400, /^book\.id: this field is the body/],
  },
  {
    title: "a body that sets other fields than its own",
    method: "POST",
    target: "/lib/shelves/4/books",
    body: '{},"tags":["x"]',
    refused: [400, /^line 1, column 3: expected nothing after the value/],
  },
  {
    title: "an error names its place in the body",
    method: "POST",
    target: "/lib/shelves/4/books",
    body: '{"author":{"id":7}}',
    refused: [400, /^author\.id: expected a string/],
  },
  {
    title: "a list as the body",
    method: "POST",
    target: "/lib/tags",
    body: '["a","b"]',
    arrives: { tags: ["a", "b"] },
  },
  {
    title: "a list of messages as the body",
    method: "POST",
    target: "/lib/books",
    body: '[{"id":"1"},{}]',
    arrives: { books: [{ id: "1" }, {}] },
  },
  {
    title: "a map as the body",
    method: "POST",
    target: "/lib/labels?shelf=2",
    body: '{"a":"b"}',
    arrives: { labels: { a: "b" }, shelf: "2" },
  },
  {
    title: "a time as the body",
    method: "POST",
    target: "/lib/since",
    body: '"2026-11-22T10:00:00Z"',
    arrives: { since: "2026-11-22T10:00:00Z" },
  },
  {
    title: "the path's member of a oneof replaces the body's",
    method: "PUT",
    target: "/lib/left/a",
    body: '{"right":"b"}',
    arrives: { left: "a" },
  },
  {
    title: "a zero in the path replaces the body's value",
    method: "PUT",
    target: "/lib/deep/a/0",
    body: '{"shelf":5,"book":{"id":"i","author":{"id":"x","name":"N"}}}',
    arrives: { book: { id: "i", author: { id: "a", name: "N" } } },
  },

  {
    title: "raw bytes in a field",
    method: "POST",
    target: "/lib/file/f?shelf=2",
    body: "%PDF",
    type: "application/pdf",
    arrives: { name: "f", shelf: "2", file: { contentType: "application/pdf", data: "JVBERg==" } },
  },
  {
    title: "raw bytes in both directions",
    method: "POST",
    target: "/lib/raw",
    body: "<a>",
    type: "text/html",
    responses: "<a>",
  },

  { title: "a custom method", method: "REPORT", target: "/lib/report", body: '{"name":"n"}', arrives: { name: "n" } },
  { title: "every method", method: "PURGE", target: "/lib/any/n", arrives: { name: "n" } },
  { title: "every method, GET too", target: "/lib/any/n?shelf=2", arrives: { name: "n", shelf: "2" } },
  { title: "HEAD where GET is bound", method: "HEAD", target: "/lib/shelves/1", arrives: { name: "shelves/1" } },
  { title: "HEAD where it is bound itself", method: "HEAD", target: "/lib/head/n", arrives: { name: "n" } },
  {
    title: "GET if only HEAD is bound",
    target: "/lib/head/n",
    refused: [405, /must be one of HEAD, OPTIONS, not GET/],
  },

  {
    title: "a message as the response",
    target: "/lib/parts/book?book.id=1",
    responses: '{"id":"1","name":"","title":""}',
  },
  { title: "an absent message as the answer", target: "/lib/parts/book", responses: '{"id":"","name":"","title":""}' },
  { title: "a list as the answer", target: "/lib/parts/tags?tags=a&tags=b", responses: '["a","b"]' },
  { title: "an empty list as the answer", target: "/lib/parts/tags", responses: "[]" },
  {
    title: "a number as the response",
    target: "/lib/parts/shelf?shelf=9007199254740993",
    responses: '"9007199254740993"',
  },
  { title: "an absent time as the answer", target: "/lib/parts/since", responses: "null" },
  {
    title: "raw bytes in a field as the response",
    method: "POST",
    target: "/lib/parts/file",
    body: '{"file":{"contentType":"text/css","data":"YQ=="}}',
    responses: "a",
  },
  { title: "an error of the service", target: "/lib/fail/1", refused: [404, /^no such shelf$/] },
];

for (const {
  title,
  method = "GET",
  target,
  body,
  type = "application/json",
  arrives = {},
  responses: answers,
  refused,
} of CASES) {
  t.test(title, async (t) => {
    const headers = body === undefined ? [] : ["Content-Type", type];
    const response = await ask(handler, { method, target, headers, body });
    if (refused !== undefined) {
      const [status, detail] = refused;
      t.match(JSON.parse(response.body), { Code: status, Detail: detail });
    } else if (answers !== undefined) t.strictSame([response.status, response.body], [200, answers]);
    else {
      t.equal(response.status, 200, response.body);
      t.strictSame(withoutZeros(JSON.parse(response.body)), arrives);
    }
  });
}

t.test("the service sets the content type of raw bytes", async (t) => {
  const headers = ["Content-Type", "text/html"];
  const response = await ask(handler, { method: "POST", target: "/lib/raw", headers, body: "x" });
  t.match(response.headers, { "content-type": "text/html", "content-security-policy": "sandbox" });
});

function withoutZeros(value: object): object {
  const isZero = (one: unknown) =>
    one === null || ["", 0, "0", false, "KIND_UNSPECIFIED", "[]", "{}"].includes(one as string);
  const kept = Object.entries(value).flatMap(([name, one]) => {
    if (Array.isArray(one))
      return one.length === 0
        ? []
        : [[name, one.map((each) => (typeof each === "object" ? withoutZeros(each) : each))]];
    if (typeof one !== "object" || one === null) return isZero(one) ? [] : [[name, one]];
    return Object.keys(one).length === 0 ? [] : [[name, withoutZeros(one)]];
  });
  return Object.fromEntries(kept);
}
