// multipart/form-data, as HTML forms send files, fills requests that have a field of bytes.
import t from "tap";
import { open, scene } from "./client.js";

const it = await scene(t, { flags: { maxBody: "4KiB" } });
const TYPE = "multipart/form-data; boundary=xyz";
const BYTES = "\0\u00ff\r\n--no boundary";
const NOTHING = { title: "", file: "", more: [], number: 0 };
const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64");

const text = (name: string, value: string): string =>
  `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, bytes: string): string =>
  `--xyz\r\nContent-Disposition: form-data; name="${name}"; filename="f"\r\nContent-Type: image/png\r\n\r\n${bytes}\r\n`;
const END = "--xyz--\r\n";

const forms: [title: string, form: string, fields: object][] = [
  ["a file fills the bytes field of its name", file("file", BYTES) + END, { file: base64(BYTES) }],
  ["an empty file", file("file", "") + END, {}],
  [
    "other parts are read like query parameters",
    text("title", "a") + text("number", "7") + END,
    { title: "a", number: 7 },
  ],
  ["both", text("title", "a") + file("file", "x") + END, { title: "a", file: base64("x") }],
  ["text in UTF-8", text("title", "\u00c3\u00bc") + END, { title: "ü" }],
  [
    "several files for a repeated field",
    file("more", "a") + file("more", "b") + END,
    { more: [base64("a"), base64("b")] },
  ],
  ["no part", END, {}],
];
const headers = { "content-type": TYPE };
const send = (path: string, form: string) =>
  open(it, path, { method: "POST", headers, body: Buffer.from(form, "latin1") });

for (const [title, form, fields] of forms) {
  t.test(title, async (t) => {
    const answer = await send("/feed/form", form);
    t.equal(answer.status, 200);
    t.same(JSON.parse(await answer.text()), { ...NOTHING, ...fields });
  });
}

const bad: [title: string, form: string, status: number, detail: RegExp][] = [
  ["a file for a text field", file("title", "x") + END, 400, /^title: a file can only fill a field of bytes/],
  ["a file for no field", file("nothing", "x") + END, 400, /^nothing: a file/],
  ["two files for one field", file("file", "a") + file("file", "b") + END, 400, /file/],
  ["text for no field", text("nothing", "x") + END, 400, /nothing/],
  ["text that does not fit", text("number", "many") + END, 400, /number/],
  ["no end", text("title", "a"), 400, /no multipart\/form-data/],
  ["something after the end", `${END}more`, 400, /no multipart\/form-data/],
  ["no form at all", "{}", 400, /no multipart\/form-data/],
  ["more than a body may have", file("file", "x".repeat(5000)) + END, 413, /larger than 4096/],
];
for (const [title, form, status, detail] of bad) {
  t.test(`${title}: ${status}`, async (t) => {
    const answer = await send("/feed/form", form);
    t.equal(answer.status, status);
    t.match(JSON.parse(await answer.text()).Detail, detail);
  });
}

t.test("a request without a bytes field takes JSON only", async (t) => {
  const answer = await send("/helloworld/call", text("name", "Ada") + END);
  t.equal(answer.status, 415);
});
