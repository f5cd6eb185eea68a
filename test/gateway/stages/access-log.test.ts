// The access log: which requests have a line, and what a sample leaves out. A line that stands for
// more requests than its own says their share in `sample`.
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import t from "tap";
import { ask, deploy, login } from "../deployment.js";

const REQUESTS = 200;
/** Fewer or more lines of 200 requests at a share of 0.5 are seen less than once in 10^9 runs. */
const BETWEEN = [55, 145] as const;

const cases: [flags: Record<string, string>, granted: number | "some", refused: number][] = [
  [{}, REQUESTS, REQUESTS],
  [{ accessLog: "all" }, REQUESTS, REQUESTS],
  [{ accessLog: "errors" }, 0, REQUESTS],
  [{ accessLog: "off" }, 0, 0],
  [{ accessLogSample: "0.5" }, "some", REQUESTS],
  [{ accessLogSample: "0.5", accessLog: "errors" }, 0, REQUESTS],
  [{ accessLogSample: "0.5", accessLog: "off" }, 0, 0],
];

for (const [flags, granted, refused] of cases) {
  t.test(`with ${JSON.stringify(flags)}`, async (t) => {
    const deployment = await deploy(t.testdir(), { flags });
    t.teardown(() => deployment.close());
    const { handler, logged, metrics } = deployment;
    logged.length = 0;
    for (let request = 0; request < REQUESTS; request++) {
      await ask(handler, { target: "/helloworld" });
      await ask(handler, { target: "/nowhere" });
    }
    const lines = (status: number) => logged.filter((line) => line.status === status);
    if (granted === "some") {
      const { length } = lines(200);
      t.ok(length > BETWEEN[0] && length < BETWEEN[1], `${length} lines`);
      t.ok(
        lines(200).every(({ sample }) => sample === 0.5),
        "each line says the share that it stands for",
      );
    } else {
      t.equal(lines(200).length, granted);
      t.notOk(lines(200).some((line) => "sample" in line));
    }
    t.equal(lines(404).length, refused, "errors");
    t.notOk(lines(404).some((line) => "sample" in line));
    t.match(await metrics.text(), new RegExp(`code="200"} ${REQUESTS}$`, "m"), "metrics count what the log leaves out");
  });
}

t.test("requests that are not HTTP have request IDs of their own", async (t) => {
  const { close, gateway, logged } = await deploy(t.testdir());
  t.teardown(close);
  const responses: string[] = [];
  for (let count = 0; count < 2; count++) {
    const socket = connect(gateway.address.port, "127.0.0.1");
    socket.write("not HTTP\r\n\r\n");
    responses.push(await text(socket));
  }
  const ids = responses.map((response) => /^X-Request-Id: (\S+)/im.exec(response)?.[1]);
  t.match(ids, [String, String]);
  t.not(ids[0], ids[1]);
  t.same(
    logged.filter(({ status }) => status === 400).map(({ requestId }) => requestId),
    ids,
  );
});

t.test("a line has the client's address, by the rules of trusted proxies, and the key", async (t) => {
  const deployment = await deploy(t.testdir(), { flags: { trustedProxies: "127.0.0.0/8" } });
  t.teardown(() => deployment.close());
  const { handler, gateway, logged } = deployment;
  const token = await login(handler, "admin");
  const json = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const { host, port } = gateway.address;
  const url = `http://${host}:${port}`;
  const key = JSON.stringify({ name: "ci" });
  const created = await fetch(`${url}/v1/auth/Keys/Create`, { method: "POST", headers: json, body: key });
  const { secret } = (await created.json()) as { secret: string };
  logged.length = 0;
  const forwarded = { "X-Forwarded-For": "203.0.113.7, 192.0.2.1" };
  await fetch(`${url}/helloworld`, { headers: { ...forwarded, Authorization: `Bearer ${secret}` } });
  t.match(logged, [{ status: 200, account: "admin", address: "192.0.2.1" }]);
  t.match(logged[0]?.key, /^ptk_\w{6}$/);
  t.notOk(JSON.stringify(logged).includes(secret));
});
