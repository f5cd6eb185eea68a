// The pages as a browser gets them: one document at every address, hashed files that are cached for
// ever, and little to load.
import { readdirSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { request } from "undici";
import { BUILT_IN_SERVICES } from "../../../cli/roles/built-in-services.js";
import { BUILT_IN } from "../../../gateway/web/first/built-in.js";
import { SELF_GOVERNED } from "../../../src/contract/names.js";
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

const BROWSER = {
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "sec-fetch-mode": "navigate",
};

t.test("every address of a page has the same document", async (t) => {
  for (const path of [
    "/explore",
    "/explore/",
    "/explore/helloworld",
    "/explore/a/b",
    "/connect",
    "/console",
    "/console/keys?x=1",
  ]) {
    const { status, headers, body } = await get(path);
    t.equal(status, 200, path);
    t.equal(headers["content-type"], "text/html; charset=utf-8");
    t.equal(body.toString(), document);
  }
  const root = await get("/");
  t.match([root.status, root.headers.location], [302, "/explore"], "the root leads every program to it");
  const first = await get("/", BROWSER);
  t.match([first.status, first.body.toString()], [200, document], "and shows a browser the first page");
  for (const { headers } of [root, first]) t.match(String(headers.vary), /Accept, Sec-Fetch-Mode/);
  for (const path of ["/explored", "/consoles", "/console/assets/nothing.js", "/console/assets/", "/Explore"]) {
    t.equal((await get(path)).status, 404, path);
  }
  t.match(await get("/explore", {}, "POST"), { status: 405, headers: { allow: "GET, HEAD, OPTIONS" } });
});

t.test("an unknown path is a page for a browser that follows a link", async (t) => {
  for (const path of ["/nowhere", "/explored", "/Explore", "/console/assets/nothing.js", "/a/b/c?d=e"]) {
    const { status, headers, body } = await get(path, BROWSER);
    t.match([status, headers["content-type"], headers["cache-control"]], [404, "text/html; charset=utf-8", "no-store"]);
    t.equal(body.toString(), document, path);
    t.match(headers["content-security-policy"], /default-src 'none'/);
  }
  const old = await get("/nowhere", { accept: "Text/HTML; q=0.5" });
  t.match(old, { status: 404, headers: { "content-type": /html/ } }, "also of a browser that sends no Sec-Fetch-Mode");
  const head = await get("/nowhere", BROWSER, "HEAD");
  t.match([head.status, head.body.length, head.headers["content-type"]], [404, 0, "text/html; charset=utf-8"]);
});

t.test("an unknown path is JSON for every program, and below a service for everyone", async (t) => {
  const PROGRAMS: Record<string, string>[] = [
    {},
    { accept: "*/*" },
    { accept: "application/json" },
    { accept: "text/html;q=0, application/json" },
    { ...BROWSER, "sec-fetch-mode": "cors" },
  ];
  const asks = PROGRAMS.map((headers) => ["/nowhere", headers] as const);
  const ofServices = ["/v1/nowhere", "/v1/nowhere/call", "/v1/helloworld/nothing", "/helloworld/nothing"];
  for (const [path, sent] of [...asks, ...ofServices.map((path) => [path, BROWSER] as const)]) {
    const { status, headers, body } = await get(path, sent);
    t.match([status, headers["content-type"]], [404, "application/json"], `${path} ${JSON.stringify(sent)}`);
    t.match(JSON.parse(body.toString()), { Code: 404, Detail: /^No endpoint at / });
  }
  const posted = await get("/nowhere", BROWSER, "POST");
  t.match([posted.status, posted.headers["content-type"]], [404, "application/json"]);
});

t.test("a browser that looks for an icon finds it", async (t) => {
  const { status, headers, body } = await get("/favicon.ico");
  t.match([status, headers["content-type"]], [200, "image/svg+xml"]);
  t.equal(headers["cache-control"], "public, max-age=86400");
  t.ok(body.equals((await get(files.find((path) => path.endsWith(".svg"))!)).body));
});

t.test("the Content-Security-Policy lets only Portico's files run", async (t) => {
  const { headers } = await get("/explore");
  const policy = new Map(
    String(headers["content-security-policy"])
      .split("; ")
      .map((directive) => [directive.split(" ")[0]!, directive.split(" ").slice(1).join(" ")]),
  );
  t.equal(policy.get("default-src"), "'none'");
  for (const kind of ["script-src", "style-src", "font-src", "connect-src"]) t.equal(policy.get(kind), "'self'", kind);
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

t.test("the font is one small file, cached for ever, with its licence beside it", async (t) => {
  const sheet = (await get(files.find((path) => path.endsWith(".css"))!)).body.toString();
  const fonts = [...sheet.matchAll(/url\("?([^")]+\.woff2)"?\)/g)].map(([, path]) => path!);
  t.equal(fonts.length, 1);
  t.match(sheet, /font-display:swap/);
  const { status, headers, body } = await get(fonts[0]!, { "accept-encoding": "br, gzip" });
  t.match([status, headers["content-type"], headers["content-encoding"]], [200, "font/woff2", undefined]);
  t.equal(headers["cache-control"], "public, max-age=31536000, immutable");
  t.match(fonts[0], /-[A-Z0-9]{8}\.woff2$/);
  t.ok(body.length <= 35 * 1_024, `${body.length} bytes`);
  const names = readdirSync("dist/console/assets").filter((name) => name.endsWith(".txt"));
  const licence = await get(`/console/assets/${names[0]}`);
  t.match(licence.headers["content-type"], "text/plain; charset=utf-8");
  t.match(licence.body.toString(), /SIL Open Font License, Version 1\.1/);
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

/** The maximum of what is loaded before a page is shown: kB (1,024 B), gzipped, without fonts. */
const FIRST_VIEWS: readonly { path: string; maxKb: number; reads: readonly string[] }[] = [
  { path: "/explore", maxKb: 75, reads: ["/registry/list"] },
  {
    path: "/explore/helloworld/Helloworld.Call",
    maxKb: 95,
    reads: ["/registry/list", "/openapi/helloworld.json"],
  },
  { path: "/console", maxKb: 75, reads: [] },
  { path: "/", maxKb: 60, reads: ["/registry/list"] },
  { path: "/connect", maxKb: 75, reads: ["/registry/list", "/openapi/helloworld.json"] },
];

t.test("a first view loads little", async (t) => {
  for (const view of FIRST_VIEWS) await checkSize(t, view);
});

async function checkSize(t: Test, { path: part, maxKb, reads }: (typeof FIRST_VIEWS)[number]): Promise<void> {
  const { headers, body } = await get(part, { ...BROWSER, "accept-encoding": "gzip" });
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
    t.notMatch(text, 'role:"combobox"', "the search over every page is loaded when it is opened");
    for (const [, name] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) open.push(`/console/assets/${name}`);
  }
  for (const path of reads) loaded.set(path, (await get(path, { "accept-encoding": "gzip" })).body.length);
  const size = [...loaded.values()].reduce((sum, one) => sum + one, body.length);
  t.comment(`${part}: ${size} bytes gzipped in ${loaded.size + 1} files`);
  t.ok(size <= maxKb * 1_024, `${part}: ${(size / 1_024).toFixed(1)} kB of ${maxKb} kB`);
}

t.test("the first page knows which services come with Portico", async (t) => {
  t.same([...BUILT_IN].sort(), [...SELF_GOVERNED, ...Object.keys(BUILT_IN_SERVICES)].sort());
});
