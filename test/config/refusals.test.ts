// A wrong setting stops the start with one line that names the setting and what is accepted.
import { join } from "node:path";
import t from "tap";
import { loadConfig } from "../../src/config/config.js";
import { noServiceOptions } from "../../src/config/service-options.js";
import { ConfigError } from "../../src/config/setting.js";

const variables: [variable: string, value: string, message: RegExp][] = [
  ["PORTICO_HTTP", "8080", /^PORTICO_HTTP is "8080": must be host:port/],
  ["PORTICO_HTTP", "127.0.0.1:99999", /must be host:port/],
  ["PORTICO_GRPC", "::1:8081", /must be host:port/], // an IPv6 address needs its brackets
  ["PORTICO_HTTP", "unix:portico.sock", /^PORTICO_HTTP is "unix:portico\.sock": must be unix: and an absolute path/],
  ["PORTICO_HTTP", "unix:", /must be unix: and an absolute path/],
  ["PORTICO_HTTP", "unix:@abstract", /must be unix: and an absolute path/],
  ["PORTICO_HTTP", `unix:/${"a".repeat(107)}`, /an absolute path, of 10[37] ASCII characters at most$/],
  ["PORTICO_HTTP", "/run/portico.sock", /must be host:port, .*, or unix:\/path$/],
  ["PORTICO_GRPC", "unix:/run/portico.sock", /must be host:port/],
  ["PORTICO_AUTHORITY", "https://h:1", /must be host:port, grpcs:\/\/host:port \(with TLS\) or unix:\/path/],
  ["PORTICO_AUTHORITY", "a:1,b,c:1", /must be host:port, .* \(not "b"\)/],
  ["PORTICO_AUTHORITY", "a:1,,c:1", /must be host:port, .* \(not ""\)/],
  ["PORTICO_AUTHORITY", "a:1, b:1, a:1", /names a:1 twice/],
  ["PORTICO_STORE", "mysql://db", /^PORTICO_STORE is "mysql:\/\/db": must be sqlite:/],
  ["PORTICO_CORS", "example.com", /origins such as https:\/\/example.com/],
  ["PORTICO_CORS", "https://example.com/path", /origins such as/],
  ["PORTICO_HTTP_HOSTS", "api.example.com:443", /host names without ports, such as api.example.com/],
  ["PORTICO_HTTP_HOSTS", "https://api.example.com", /host names without ports/],
  ["PORTICO_PROXY_PROTOCOL", "v2", /must be one of none, accept, require/],
  ["PORTICO_PUBLIC_URL", "api.example.com", /must be http:\/\/ or https:\/\/ and a host/],
  ["PORTICO_PUBLIC_URL", "https://api.example.com/door", /without a path/],
  ["PORTICO_PUBLIC_URL", "https://me@api.example.com", /and a host/],
  ["PORTICO_PUBLIC_URL", "ftp://api.example.com", /must be http/],
  ["PORTICO_OMIT_ZEROS", "yes", /must be one of true, false/],
  ["PORTICO_LOG_LEVEL", "loud", /must be one of trace, debug, info/],
  ["PORTICO_ACCESS_LOG", "some", /must be one of off, errors, all/],
  ["PORTICO_ACCESS_LOG_SAMPLE", "0", /must be a number from 0.0001 to 1, such as 0.1$/],
  ["PORTICO_ACCESS_LOG_SAMPLE", "10%", /must be a number/],
  ["PORTICO_OTLP", "127.0.0.1:4318", /^PORTICO_OTLP is "127.0.0.1:4318": must be http:\/\/ or https:\/\//],
  ["PORTICO_OTLP", "http://me:secret@collector", /^PORTICO_OTLP is "http:\/\/…@collector": must be http/],
  ["PORTICO_OTLP", "http://collector?x=1", /without a query/],
  ["PORTICO_OTLP", "http://collector/#x", /without a query/],
  ["PORTICO_TRACE_SAMPLE", "1.5", /must be a number from 0 to 1/],
  ["PORTICO_TRACE_SAMPLE", "1%", /must be a number from 0 to 1/],
  ["PORTICO_TRACE_SAMPLE", "1e-3", /must be a number from 0 to 1/],
  ["PORTICO_MAX_BODY", "4MB", /must be a size .* such as 16KiB, 512KiB or 4MiB/],
  ["PORTICO_MAX_BODY", "0", /must be a size from 1/],
  ["PORTICO_CALL_TIME", "30", /must be a time .* such as 250ms, 2s or 10s/],
  ["PORTICO_CALL_TIME", "91s", /must be a time/],
  ["PORTICO_LEASE", "1h", /must be a time from 0.5s to 60s, such as 2s or 10s$/],
  [
    "PORTICO_MAX_CALL_TIME",
    "29s",
    /^PORTICO_CALL_TIME is 30s, more than PORTICO_MAX_CALL_TIME, which is 29s: lower the first, or raise the second$/,
  ],
  ["PORTICO_MAX_RULES", "-1", /must be a whole number from 1/],
  ["PORTICO_MAX_RULES", "1e3", /must be a whole number/],
];

for (const [variable, value, message] of variables) {
  t.test(`${variable}=${value}`, async (t) => {
    const load = () => loadConfig({}, { PORTICO_DATA: t.testdir(), [variable]: value });
    t.throws(load, { name: "ConfigError", message });
  });
}

const files: [why: string, text: string, message: RegExp][] = [
  ["not JSON", "{", /portico\.json cannot be read/],
  ["not JSON, in several lines", '{\n  "http": }\n', /^the configuration file .*portico\.json cannot be read: .+$/],
  ["not an object", "[]", /must hold one JSON object/],
  ["unknown setting", '{"htpp": "127.0.0.1:1"}', /unknown setting "htpp"/],
  [
    "the data folder that it is in",
    '{"data": "/elsewhere"}',
    /portico\.json is in the data folder, so it cannot name "data"/,
  ],
  ["another configuration file", '{"config": "/other.json"}', /portico\.json cannot name another one by "config"/],
  ["unknown setting that every object has", '{"constructor": 1}', /unknown setting "constructor"/],
  ["a secret", '{"enrolment": "pte_x"}', /must not hold the secret "enrolment"/],
  ["wrong value", '{"maxBody": "lots"}', /"maxBody" in the configuration file is "lots"/],
  ["services not a list", '{"services": {}}', /"services" .* must be a list/],
  ["service without target", '{"services": [{"name": "a"}]}', /services\[0\] .*: target: must be host:port/],
  [
    "service with a bad name",
    '{"services": [{"name": "A", "target": "h:1"}]}',
    /services\[0\] .*: name must be lower-case/,
  ],
  ["service with an unknown member", '{"services": [{"name": "a", "target": "h:1", "x": 1}]}', /unknown member "x"/],
  [
    "a prefix of bindings that is no path",
    '{"services": [{"name": "a", "target": "h:1", "bindings": {"prefix": "api/"}}]}',
    /services\[0\] .*: bindings must be an object such as \{"prefix": "\/api"\}/,
  ],
  ...[
    ["x-Tenant"],
    ["x tenant"],
    ["authorization"],
    ["content-encoding"],
    ["alt-svc"],
    ["cache-control"],
    "x-tenant",
  ].map((metadata): (typeof files)[number] => [
    `metadata ${JSON.stringify(metadata)}`,
    JSON.stringify({ services: [{ name: "a", target: "h:1", metadata }] }),
    /services\[0\] .*: metadata must be a list/,
  ]),
  [
    "descriptors not a path",
    '{"services": [{"name": "a", "target": "h:1", "descriptors": 7}]}',
    /descriptors must be the path of a file/,
  ],
];

for (const [why, text, message] of files) {
  t.test(`configuration file: ${why}`, async (t) => {
    const data = t.testdir({ "portico.json": text });
    t.throws(() => loadConfig({}, { PORTICO_DATA: data }), { name: "ConfigError", message });
  });
}

t.test("a configuration file cannot name another one", async (t) => {
  const config = join(t.testdir({ "portico.json": '{"config": "/other.json"}' }), "portico.json");
  const error = {
    name: "ConfigError",
    message: `the configuration file ${config} cannot name another one by "config"`,
  };
  t.throws(() => loadConfig({ config }, {}), error);
});

t.test("a missing configuration file stops the start", async (t) => {
  const missing = join(t.testdir(), "none.json");
  t.throws(
    () => loadConfig({ config: missing }, {}),
    new ConfigError(`the configuration file ${missing} does not exist`),
  );
});

t.test("configured services have one or several targets, and files relative to the configuration file", async (t) => {
  const services = [
    { name: "a", target: "127.0.0.1:1", descriptors: "a.binpb", identity: true },
    { name: "b", target: [{ address: "grpcs://h:1", weight: 5 }, "[::1]:2", "unix:/b.sock"] },
    { name: "c", target: "h:1", descriptors: "/c.binpb", bindings: { prefix: "/api" } },
  ];
  const data = t.testdir({ "portico.json": JSON.stringify({ services }) });
  t.same(loadConfig({}, { PORTICO_DATA: data }).services, [
    {
      name: "a",
      targets: [{ target: { host: "127.0.0.1", port: 1 }, weight: 1 }],
      descriptors: join(data, "a.binpb"),
      options: { ...noServiceOptions(), identity: true },
    },
    {
      name: "b",
      targets: [
        { target: { host: "h", port: 1, tls: true }, weight: 5 },
        { target: { host: "::1", port: 2 }, weight: 1 },
        { target: { path: "/b.sock" }, weight: 1 },
      ],
      descriptors: undefined,
      options: noServiceOptions(),
    },
    {
      ...{ name: "c", targets: [{ target: { host: "h", port: 1 }, weight: 1 }], descriptors: "/c.binpb" },
      options: { ...noServiceOptions(), bindingPrefix: "/api" },
    },
  ]);
});
