// Independent HTTP clients get the same results from the port over HTTP/1.1 and HTTP/2: large
// bodies with and without a length, a stream, "100 Continue", HEAD, and errors. Only a body that is
// too large closes the connection.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { PYTHON_PACKAGES } from "../../../cli/client/test-gateway.js";
import { createAuthority } from "../../../http2/certificates.js";
import { cargoPrograms, pythonPrograms, run } from "../../../outside/tools.js";
import { openServer, STREAMED_BYTES } from "./server.js";

const FOLDER = "test/gateway/node/clients";
const MIB = 1024 ** 2;

/**
 * The output of each client. A client may report a response that comes before it has sent the body
 * as a failure.
 */
const PRINTED = [
  "hello 200 hello",
  `length 200 ${3 * MIB}`,
  `chunks 200 ${MIB}`,
  `stream 200 ${STREAMED_BYTES} bytes`,
  "continue 200 5",
  "missing 404 not found",
  "head 200 ",
  "again 200 hello",
  "large 413 refused",
];

const hasNo = (program: string): string | false =>
  spawnSync(program, ["--version"]).error === undefined ? false : `there is no ${program} here`;
/** `go` has no parameter `--version`. */
const hasNoGo = spawnSync("go", ["version"]).status === 0 ? false : "there is no Go here";

const server = await openServer(t);

t.test("curl", { skip: hasNo("curl") }, async (t) => {
  const url = `http://${server.address}`;
  const write = (name: string): string[] => ["-sS", "-w", `\\n${name} %{http_code} %{num_connects}\\n`];
  const body = (length: number): string[] => ["-X", "POST", "--data-binary", "x".repeat(length)];
  const calls = [
    [...write("hello"), `${url}/hello`],
    [...write("length"), ...body(100_000), `${url}/length`],
    [...write("continue"), ...body(5), "-H", "Expect: 100-continue", `${url}/length`],
    [...write("chunks"), ...body(100_000), "-H", "Transfer-Encoding: chunked", `${url}/length`],
    [...write("missing"), `${url}/missing`],
    [...write("head"), "-I", "-o", "/dev/null", `${url}/hello`],
    ["-o", "/dev/null", ...write("stream"), `${url}/stream`],
    [...write("again"), `${url}/hello`],
    [...write("old"), "--http1.0", `${url}/hello`],
  ];
  const parameters = calls.flatMap((call, index) => (index === 0 ? call : ["--next", ...call]));
  const { status, output } = await run("curl", parameters);
  t.equal(status, 0);
  t.same(output.trim().split("\n"), [
    ...["hello", "hello 200 1", "100000", "length 200 0", "5", "continue 200 0", "100000", "chunks 200 0"],
    ...[
      "not found",
      "missing 404 0",
      "",
      "head 200 0",
      "",
      "stream 200 0",
      "hello",
      "again 200 0",
      "hello",
      "old 200 0",
    ],
  ]);
  t.equal(server.takeConnections(), 1);
});

t.test("curl over HTTP/2", { skip: hasNo("curl") }, async (t) => {
  const url = `http://${server.address}`;
  const post = (body: string): string[] => ["-X", "POST", "--data-binary", body, `${url}/length`];
  // curl 7.88 fails when it reuses a connection by prior knowledge, with any server. So each call
  // has its own connection.
  for (const [call, printed] of [
    [[`${url}/hello`], "hello 2 200"],
    [post("x".repeat(100_000)), "100000 2 200"],
    [[...post("hello"), "-H", "Expect: 100-continue"], "5 2 200"],
    [[`${url}/missing`], "not found 2 404"],
    [["-o", "/dev/null", `${url}/stream`], " 2 200"],
    [["-I", "-o", "/dev/null", `${url}/hello`], " 2 200"],
  ] as const) {
    const parameters = ["-sS", "--http2-prior-knowledge", "-w", " %{http_version} %{http_code}", ...call];
    t.same(await run("curl", parameters), { status: 0, output: printed });
  }
  server.takeConnections();
});

for (const version of ["HTTP/1.1", "HTTP/2"]) {
  const more = version === "HTTP/2" ? [version] : [];

  t.test(`Python's httpx over ${version}`, async (t) => {
    const programs = pythonPrograms(...(version === "HTTP/2" ? ["httpx[http2]==0.28.1"] : PYTHON_PACKAGES));
    if (programs === undefined) return void t.pass("there is no Python here");
    const parameters = [`${FOLDER}/client.py`, `http://${server.address}`, ...more];
    const { output } = await run(join(programs, "python"), parameters);
    t.same(output.trim().split("\n"), PRINTED);
    t.equal(server.takeConnections(), 1);
  });

  t.test(`Go's net/http over ${version}`, { skip: hasNoGo }, async (t) => {
    const { output } = await run("go", ["run", "-C", `${FOLDER}/go`, ".", `http://${server.address}`, ...more]);
    t.same(output.trim().split("\n"), PRINTED);
    t.equal(server.takeConnections(), 1);
  });
}

t.test("hyper", { skip: hasNo("cargo") }, async (t) => {
  const programs = cargoPrograms("hyper", `${FOLDER}/hyper/Cargo.toml`);
  const authority = createAuthority("authority");
  const secure = await openServer(t, authority.issue("localhost"));
  const ca = join(t.testdir({ "authority.pem": authority.cert }), "authority.pem");
  for (const [what, to, parameters, protocol] of [
    ["over HTTP/1.1", server, ["http/1.1"], "http/1.1"],
    ["over HTTP/2 by prior knowledge", server, ["h2"], "h2"],
    ["over TLS, offering both by ALPN", secure, ["h2,http/1.1", ca], "h2"],
    ["over TLS, offering HTTP/1.1 alone", secure, ["http/1.1", ca], "http/1.1"],
  ] as const) {
    t.test(what, async (t) => {
      const { output } = await run(join(programs, "client"), [to.address, ...parameters]);
      const many = ["many 200 1000 bytes", ...(protocol === "h2" ? ["together 200 250 bytes"] : [])];
      t.same(output.trim().split("\n"), [
        `protocol ${protocol}`,
        ...PRINTED.slice(0, -1),
        ...many,
        ...PRINTED.slice(-1),
      ]);
      t.equal(to.takeConnections(), 1);
    });
  }
});

t.test("wrk", { skip: hasNo("wrk") }, async (t) => {
  const { output } = await run("wrk", ["-t1", "-c16", "-d1s", `http://${server.address}/hello`]);
  t.match(output, /[1-9]\d* requests in/);
  t.notMatch(output, /Socket errors|Non-2xx/, output);
  server.takeConnections();
});

t.test("h2load over HTTP/1.1", { skip: hasNo("h2load") }, async (t) => {
  const { output } = await run("h2load", ["--h1", "-n2000", "-c16", "-m4", `http://${server.address}/hello`]);
  t.match(output, /requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout/);
  t.equal(server.takeConnections(), 16);
});

t.test("h2load over HTTP/2", { skip: hasNo("h2load") }, async (t) => {
  const { output } = await run("h2load", ["-n2000", "-c4", "-m50", `http://${server.address}/hello`]);
  t.match(output, /requests: 2000 total, 2000 started, 2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout/);
  t.equal(server.takeConnections(), 4);
});
