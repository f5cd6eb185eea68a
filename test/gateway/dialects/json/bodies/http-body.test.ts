// google.api.HttpBody is raw bytes with their content type, as a request and as a response.
import t from "tap";
import { Code } from "../../../../../src/errors.js";
import { OF_UNKNOWN_LENGTH, open, scene } from "../streams/client.js";

const it = await scene(t);
const BYTES = Buffer.from([0, 0xff, 0x0a, 0x22]);
const base64 = BYTES.toString("base64");

const types: [asked: string, answered: string][] = [
  ["image/png", "image/png"],
  ["text/html; charset=utf-8", "text/html; charset=utf-8"],
  ["", "application/octet-stream"],
  ["no type", "application/octet-stream"],
  ["text/html\r\nSet-Cookie: a=b", "application/octet-stream"],
];
for (const [contentType, answered] of types) {
  t.test(`response: ${JSON.stringify(contentType)}`, async (t) => {
    const { status, headers, response } = await open(it, "/feed/page", { body: { contentType, data: base64 } });
    t.equal(status, 200);
    t.match(headers, {
      "content-type": answered,
      "content-length": "4",
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
      "set-cookie": undefined,
    });
    t.same(Buffer.concat(await response.toArray()), BYTES);
  });
}

t.test("a raw response to GET, and an empty one", async (t) => {
  const { headers, text } = await open(it, "/feed/page?contentType=text/plain");
  t.match(headers, { "content-type": "text/plain", "content-length": "0" });
  t.equal(await text(), "");
});

t.test("a raw request body of any content type, or without a content type", async (t) => {
  for (const type of ["image/png", "application/json", "multipart/form-data; boundary=x", undefined]) {
    const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
    const { status, text } = await open(it, "/feed/upload", { method: "POST", headers, body: BYTES });
    t.equal(status, 200);
    t.same(JSON.parse(await text()), { contentType: type ?? "", data: base64, code: 0 });
  }
});

t.test("a stream of chunks is one body, with the content type of the first chunk", async (t) => {
  const { status, headers, response } = await open(it, "/feed/pieces", {
    body: { contentType: "audio/ogg", data: base64 },
    headers: { accept: "text/event-stream" },
  });
  t.equal(status, 200);
  t.match(headers, {
    "content-type": "audio/ogg",
    ...OF_UNKNOWN_LENGTH,
    "content-security-policy": "sandbox",
  });
  t.same(Buffer.concat(await response.toArray()), BYTES);
});

t.test("a body of chunks whose stream fails", async (t) => {
  t.test("early: an ordinary error", async (t) => {
    const { status, text } = await open(it, "/feed/pieces", { body: { code: Code.NOT_FOUND } });
    t.equal(status, 404);
    t.match(JSON.parse(await text()), { Code: 404 });
  });

  t.test("later: it breaks off, so that no client takes it for complete", async (t) => {
    const body = { contentType: "audio/ogg", data: base64, code: Code.NOT_FOUND };
    const { status, text, isComplete } = await open(it, "/feed/pieces", { body });
    t.equal(status, 200);
    await text();
    t.notOk(isComplete());
  });
});
