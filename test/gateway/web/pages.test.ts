// The pages as a browser gets them: one document at every address, hashed files that are cached for
// ever, and little to load.
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { request } from "undici";
import { installation } from "../../support/installation.js";
import { start } from "../../support/process.js";

const portico = await start(["server"], { PORTICO_DATA: await installation(t.testdir()) });
t.teardown(() => portico.stop());
const origin = portico.address("HTTP");

async function get(path: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" | "POST" = "GET") {
  const response = await request(`${origin}${path}`, { method, headers });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.from(await response.body.arrayBuffer()),
  };
}

const document = (await get("/explore")).body.toString();
/** The files that the document names. */
const files = [...document.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);

t.test("every address of a page has the same document", async (t) => {
  for (const path of [
    "/explore",
    "/explore/",
    "/explore/helloworld",
    "/explore/a/b",
    "/console",
    "/console/keys?x=1",
  ]) {
    const { status, headers, body } = await get(path);
    t.equal(status, 200, path);
    t.equal(headers["content-type"], "text/html; charset=utf-8");
    t.equal(body.toString(), document);
  }
  const root = await get("/");
  t.match([root.status, root.headers.location], [302, "/explore"], "the front door leads to it");
  for (const path of ["/explored", "/consoles", "/console/assets/nothing.js", "/console/assets/", "/Explore"]) {
    t.equal((await get(path)).status, 404, path);
  }
  t.match(await get("/explore", {}, "POST"), { status: 405, headers: { allow: "GET, HEAD, OPTIONS" } });
});

t.test("the Content-Security-Policy lets only Portico's files run", async (t) => {
  const { headers } = await get("/explore");
  const policy = new Map(
    String(headers["content-security-policy"])
      .split("; ")
      .map((directive) => [directive.split(" ")[0]!, directive.split(" ").slice(1).join(" ")]),
  );
  t.equal(policy.get("default-src"), "'none'");
  for (const kind of ["script-src", "style-src", "connect-src"]) t.equal(policy.get(kind), "'self'", kind);
  // Images and recordings in responses have addresses that only the page can make (media-view.tsx).
  t.same([policy.get("img-src"), policy.get("media-src")], ["'self' blob:", "blob:"]);
  policy.delete("img-src");
  policy.delete("media-src");
  for (const kind of ["base-uri", "form-action", "frame-ancestors"]) t.equal(policy.get(kind), "'none'", kind);
  t.notMatch([...policy.values()].join(" "), /unsafe|\*|https?:|data:|blob:/);
  t.match(headers, {
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "x-content-type-options": "nosniff",
  });
  t.equal(headers["set-cookie"], undefined);
  t.notMatch(document, /<style|style=|<script(?![^>]* src=)| on[a-z]+=/, "nor does the document ask for more");
});

t.test("revalidates the document, and gets 304 while it is unchanged", async (t) => {
  const { headers } = await get("/explore");
  const etag = String(headers.etag);
  t.equal(headers["cache-control"], "no-cache");
  for (const sent of [etag, `"other", ${etag}`, etag.replace("W/", ""), "*"]) {
    const { status, headers, body } = await get("/explore", { "if-none-match": sent });
    t.match([status, body.length, headers.etag], [304, 0, etag], sent);
    t.equal(headers["content-length"], undefined, "which would be that of the document");
  }
  t.equal((await get("/explore", { "if-none-match": '"other"' })).status, 200);
});

t.test("files have a hash of their content in their names, and are cached for ever", async (t) => {
  t.equal(files.length, 3, "a script, a sheet, an icon");
  for (const path of files) {
    const { status, headers } = await get(path);
    t.equal(status, 200, path);
    t.match(path, /^\/console\/assets\/[a-z]+-[A-Z0-9]{8}\.(js|css|svg)$/);
    t.equal(headers["cache-control"], "public, max-age=31536000, immutable");
    t.equal(headers["x-content-type-options"], "nosniff");
  }
});

const CODINGS: readonly { accept: string | undefined; coding: string | undefined }[] = [
  { accept: undefined, coding: undefined },
  { accept: "gzip, deflate, br, zstd", coding: "br" },
  { accept: "gzip", coding: "gzip" },
  { accept: "BR;q=0.5", coding: "br" },
  { accept: "br;q=0, gzip;q=0.1", coding: "gzip" },
  { accept: "*", coding: "br" },
  { accept: "br;q=0, *;q=0", coding: undefined },
  { accept: "identity", coding: undefined },
  { accept: "identity, br;q=0.5", coding: undefined },
  { accept: "x-gzip", coding: "gzip" },
  { accept: "brx, gzipped", coding: undefined },
  { accept: "gzip;q=0.000", coding: undefined },
];

const DECODE: Readonly<Record<string, (body: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };

t.test("files are compressed as the client asks, with the same content", async (t) => {
  for (const path of ["/explore", ...files]) {
    const plain = (await get(path)).body;
    for (const { accept, coding } of CODINGS) {
      const { headers, body } = await get(path, accept === undefined ? {} : { "accept-encoding": accept });
      t.equal(headers["content-encoding"], coding, `${path} ${accept}`);
      t.equal(headers["content-length"], String(body.length));
      t.equal(headers.vary, "Accept-Encoding");
      t.ok((coding === undefined ? body : DECODE[coding]!(body)).equals(plain));
    }
  }
});

t.test("HEAD of a page returns only the headers", async (t) => {
  for (const path of ["/explore", files[0]!]) {
    const asked = { "accept-encoding": "gzip" };
    const [whole, head] = [await get(path, asked), await get(path, asked, "HEAD")];
    t.equal(head.body.length, 0);
    for (const name of ["content-type", "content-length", "content-encoding", "cache-control", "etag", "vary"]) {
      t.equal(head.headers[name], whole.headers[name], `${path} ${name}`);
    }
  }
});

/** In bytes, gzipped: the maximum for the document and all that it loads before it shows a page. */
const MAX_FIRST_VIEW = 60_000;

t.test("a first view loads little", async (t) => {
  for (const part of ["/explore", "/console"]) await checkSize(t, part);
});

async function checkSize(t: Test, part: string): Promise<void> {
  const { headers, body } = await get(part, { "accept-encoding": "gzip" });
  const preloaded = [...String(headers.link).matchAll(/<([^>]+)>; rel=modulepreload/g)].map(([, path]) => path!);
  t.ok(preloaded.length > 0, "the browser is told of the page's files with the document");
  // The static imports of a script are loaded too, whether the document names them or not.
  const loaded = new Map<string, number>();
  const open = [...files, ...preloaded];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (loaded.has(path)) continue;
    const file = await get(path, { "accept-encoding": "gzip" });
    loaded.set(path, file.body.length);
    const text = gunzipSync(file.body).toString();
    for (const [, name] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) open.push(`/console/assets/${name}`);
  }
  const size = [...loaded.values()].reduce((sum, one) => sum + one, body.length);
  t.comment(`${part}: ${size} bytes gzipped in ${loaded.size + 1} files`);
  t.ok(size < MAX_FIRST_VIEW, `${part}: ${size} bytes`);
}
