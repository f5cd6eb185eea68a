// multipart/form-data, as HTML forms send files, fills requests that have a field of bytes.
import t from "tap";
import { open, scene } from "../streams/client.js";

const it = await scene(t, { flags: { maxBody: "256KiB" } });
const TYPE = "multipart/form-data; boundary=xyz";
const BYTES = "\0\u00ff\r\n--no boundary\r\n--xy\r\nz";
const NOTHING = { title: "", file: "", more: [], number: 0, tags: [], notes: {} };
const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64");

const part = (head: string, content: string): string => `--xyz\r\n${head}\r\n\r\n${content}\r\n`;
const text = (name: string, value: string): string => part(`Content-Disposition: form-data; name="${name}"`, value);
const fileNamed = (filename: string, name: string, bytes: string): string =>
  part(`Content-Type: image/png\r\nContent-Disposition: form-data; name="${name}"; ${filename}`, bytes);
const file = (name: string, bytes: string): string => fileNamed('filename="f"', name, bytes);
const END = "--xyz--\r\n";

const forms: [title: string, form: string, fields: object, type?: string][] = [
  ["a file fills the bytes field of its name", file("file", BYTES) + END, { file: base64(BYTES) }],
  ["an empty file", file("file", "") + END, {}],
  [
    "other parts are read like query parameters",
    text("title", "a") + text("number", "7") + text("file", base64("x")) + END,
    { title: "a", number: 7, file: base64("x") },
  ],
  ["both", text("title", "a") + file("file", "x") + END, { title: "a", file: base64("x") }],
  ["text in UTF-8", text("title", "\u00c3\u00bc") + END, { title: "ü" }],
  ["text with a byte order mark", text("title", "\u00ef\u00bb\u00bfa") + END, { title: "\ufeffa" }],
  [
    "several files for a repeated field",
    file("more", "a") + file("more", "") + file("more", "b") + END,
    { more: [base64("a"), "", base64("b")] },
  ],
  ["several texts for a repeated field", text("tags", "a") + text("tags", "") + END, { tags: ["a", ""] }],
  ["a file for an optional field", file("note", "a") + END, { note: base64("a") }],
  ["an empty file for an optional field", file("note", "") + END, { note: "" }],
  ["a file for a member of a oneof", file("image", "a") + END, { image: base64("a") }],
  ["no part", END, {}],
  ["as many parts as there may be", file("more", "").repeat(1000) + END, { more: Array(1000).fill("") }],
  ["a preamble", `This is a form.\r\n--x\r\n${text("title", "a")}${END}`, { title: "a" }],
  ["an epilogue", `${text("title", "a")}${END}That was a form.\r\n--xyz`, { title: "a" }],
  ["no line end after it", text("title", "a") + END.trimEnd(), { title: "a" }],
  ["white space after the boundary", `${text("title", "a")}--xyz-- \t`.replace("z\r", "z\t \r"), { title: "a" }],
  ["a boundary in quotes", `--x y${END}`, {}, 'multipart/form-data;charset=utf-8; Boundary="x y--xyz";'],
  ["a file's name as in RFC 8187", fileNamed("filename*=UTF-8''f%C3%BC", "file", "x") + END, { file: base64("x") }],
  ["a file's name with quotes", fileNamed('filename="a\\"; name=\\"b"', "file", "x") + END, { file: base64("x") }],
  ["a name without quotes", part("content-disposition:form-data;name=title", "a") + END, { title: "a" }],
  ["a name as browsers write it", text("notes[%22\\%0D%0A%41]", "a") + END, { notes: { '"\\\r\n%41': "a" } }],
  ["a name with an escaped quote", text('notes[\\"]', "a") + END, { notes: { '"': "a" } }],
  [
    "bytes that are declared as bytes",
    fileNamed("filename=f\r\nContent-Transfer-Encoding: binary", "file", "x") + END,
    { file: base64("x") },
  ],
];
const send = (path: string, form: string, type = TYPE) =>
  open(it, path, { method: "POST", headers: { "content-type": type }, body: Buffer.from(form, "latin1") });

for (const [title, form, fields, type] of forms) {
  t.test(title, async (t) => {
    const response = await send("/feed/form", form, type);
    const body = await response.text();
    t.equal(response.status, 200, body);
    t.same(JSON.parse(body), { ...NOTHING, ...fields });
  });
}

const bad: [title: string, form: string, status: number, detail: RegExp, type?: string][] = [
  ["a file for a text field", file("title", "x") + END, 400, /^title: a file can only fill a field of bytes/],
  ["a file for no field", file("nothing", "x") + END, 400, /^nothing: a file/],
  ["a file for a field that does not show", file("a\0", "x") + END, 400, /^a\\u0000: a file/],
  ["two files for one field", file("file", "a") + file("file", "b") + END, 400, /^file: given more than once/],
  ["a file and text for one field", file("file", "a") + text("file", "YQ") + END, 400, /^file: given more than once/],
  ["two texts for one field", text("title", "a") + text("title", "b") + END, 400, /^title: given more than once/],
  ["files and text for a list", file("more", "a") + text("more", "YQ") + END, 400, /^more: .*files or text, not both/],
  ["two members of a oneof", file("image", "a") + text("link", "b") + END, 400, /^link: another member of the oneof/],
  ["text for no field", text("nothing", "x") + END, 400, /^nothing/],
  ["text that does not fit", text("number", "many") + END, 400, /^number/],
  ["text that is not UTF-8", text("title", "A\u00ffB") + END, 400, /^title: the text is not UTF-8/],
  ["half of a surrogate pair", text("title", "\u00ed\u00a0\u0080") + END, 400, /^title: the text is not UTF-8/],
  ["a name that is not UTF-8", text("titl\u00ff", "a") + END, 400, /^Part 1 .*not UTF-8/],
  ["one part too many", file("more", "").repeat(1001) + END, 400, /more than 1000 parts/],
  ["headers that are too large", text("x".repeat(9000), "") + END, 400, /^Part 1 .*empty line within 8 KiB/],
  ["no headers", `${text("title", "a")}--xyz\r\na\r\n${END}`, 400, /^Part 2 .*empty line/],
  [
    "no disposition",
    part("Content-Type: text/plain", "a") + END,
    400,
    /^Part 1 .*Content-Disposition: form-data; name=/,
  ],
  [
    "no name",
    part("Content-Disposition: form-data", "a") + END,
    400,
    /^Part 1 .*Content-Disposition: form-data; name=/,
  ],
  ["two names", text('title"; name="title', "a") + END, 400, /^Part 1 .*Content-Disposition: form-data; name=/],
  [
    "two dispositions",
    text('title"\r\nContent-Disposition: form-data; name="title', "a") + END,
    400,
    /^Part 1 .*must have one header Content-Disposition/,
  ],
  ["a name without end", text('title"; x="', "a").replace('=""', '="') + END, 400, /^Part 1 .*Content-Disposition/],
  [
    "bytes in base64",
    fileNamed('filename="f"\r\nContent-Transfer-Encoding: base64', "file", "YQ") + END,
    400,
    /^Part 1 .*Content-Transfer-Encoding/,
  ],
  ["no end", text("title", "a"), 400, /does not end with --xyz--/],
  ["no end of the last part", text("title", "a").trimEnd(), 400, /does not end with --xyz--/],
  ["a line that only begins with the boundary", text("title", `a\r\n--xyzzy`) + END, 400, /at byte 63/],
  ["an end followed by more bytes", `${END.trimEnd()}more`, 400, /at byte 7/],
  ["no form at all", "{}", 400, /no line --xyz/],
  ["no boundary", END, 400, /Content-Type must name .* boundary/, "multipart/form-data; charset=utf-8"],
  ["more than a body may have", file("file", "x".repeat(300_000)) + END, 413, /larger than 262144/],
];
for (const [title, form, status, detail, type] of bad) {
  t.test(`${title}: ${status}`, async (t) => {
    const response = await send("/feed/form", form, type);
    t.equal(response.status, status);
    t.match(JSON.parse(await response.text()).Detail, detail);
  });
}

t.test("a request without a bytes field takes JSON only", async (t) => {
  const response = await send("/helloworld/call", text("name", "Ada") + END);
  t.equal(response.status, 415);
});
