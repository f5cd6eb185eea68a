// External clients (curl, httpx, Node's fetch) ask for compressed responses and send compressed
// requests. They get the same content as without compression.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import zlib from "node:zlib";
import t from "tap";
import { pythonPrograms, run } from "../../outside/tools.js";
import { deploy } from "../deployment.js";
import { createRelay } from "./relay.js";

t.setTimeout(180_000);
const it = await deploy(t.testdir(), { flags: { lease: "60s" }, services: [createRelay()] });
t.teardown(() => it.close());
const url = `http://127.0.0.1:${it.gateway.address.port}/relay/Call`;
const TEXT = "some words that come again; ".repeat(5_000);
const NOTE = JSON.stringify({ text: TEXT });

const curl = spawnSync("curl", ["--version"], { encoding: "utf8" });

t.test("curl", { skip: curl.status !== 0 && "there is no curl here" }, async (t) => {
  const folder = t.testdir({ "note.json": NOTE });
  writeFileSync(join(folder, "note.json.gz"), zlib.gzipSync(NOTE));
  const ask = async (...more: string[]): Promise<{ coding: string; size: number; text: string }> => {
    const written = ["-w", "\n%header{content-encoding} %{size_download}", "-H", "Content-Type: application/json"];
    const { status, output } = await run("curl", ["-s", ...written, ...more, url]);
    t.equal(status, 0);
    const end = output.lastIndexOf("\n");
    const [coding = "", size = ""] = output.slice(end + 1).split(" ");
    return { coding, size: Number(size), text: JSON.parse(output.slice(0, end)).text };
  };
  for (const version of ["--http1.1", "--http2-prior-knowledge"]) {
    const plain = await ask(version, "--data-binary", `@${join(folder, "note.json")}`);
    t.equal(plain.coding, "");
    t.ok(plain.text === TEXT);
    const packed = `@${join(folder, "note.json.gz")}`;
    const compressed = await ask(version, "--compressed", "-H", "Content-Encoding: gzip", "--data-binary", packed);
    t.match(compressed.coding, /^(?:br|gzip|zstd)$/);
    t.ok(compressed.size < plain.size / 10, `${compressed.size} bytes of ${plain.size}`);
    t.ok(compressed.text === TEXT);
  }
});

const programs = pythonPrograms("httpx[http2]==0.28.1", "brotli==1.2.0");

const PROGRAM = `
import gzip, json, sys
import httpx
url, version = sys.argv[1:]
body = json.dumps({"text": "some words that come again; " * 5000}).encode()
with httpx.Client(http1=version == "1", http2=version == "2") as client:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = client.post(url, content=gzip.compress(body), headers=headers)
    print(answer.http_version, answer.headers["content-encoding"], answer.json()["text"] == json.loads(body)["text"])
    print(answer.num_bytes_downloaded < len(body) / 10)
`;

t.test("httpx", { skip: programs === undefined && "there is no Python here" }, async (t) => {
  for (const version of ["1", "2"]) {
    const { status, output } = await run(join(programs!, "python"), ["-c", PROGRAM, url, version]);
    t.equal(status, 0, output);
    t.match(output, new RegExp(`^HTTP/${version === "1" ? "1\\.1" : "2"} (?:br|zstd) True\\nTrue\\n$`));
  }
});

t.test("fetch of Node", async (t) => {
  const headers = { "content-type": "application/json", "content-encoding": "br" };
  const response = await fetch(url, { method: "POST", headers, body: zlib.brotliCompressSync(NOTE) });
  t.match(response.headers.get("content-encoding"), /^(?:br|gzip|zstd)$/);
  t.ok(((await response.json()) as { text: string }).text === TEXT);
});
