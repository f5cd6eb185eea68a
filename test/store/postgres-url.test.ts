/** The parts of a Postgres URL, and the URLs that are refused. No message contains the password. */
import t from "tap";
import { openStore } from "../../src/store/open.js";
import { readPostgresUrl } from "../../src/store/postgres-url.js";

const read = (url: string) => readPostgresUrl(url, "portico");

const READ: Record<string, [name: string, expected: object]> = {
  "postgres://p:secret@127.0.0.1/db": [
    "postgres://127.0.0.1/db",
    { user: "p", password: "secret", database: "db", schema: "portico", servers: [{ host: "127.0.0.1" }], ssl: false },
  ],
  "postgresql://localhost:5433/db?schema=other": [
    "postgres://localhost:5433/db?schema=other",
    { user: undefined, password: undefined, schema: "other", servers: [{ host: "localhost", port: 5433 }] },
  ],
  "postgres://p%40x:a%2Fb:c%25@[::1]:5433/d%20b": [
    "postgres://[::1]:5433/d b",
    { user: "p@x", password: "a/b:c%", database: "d b", servers: [{ host: "::1", port: 5433 }] },
  ],
  "postgres://p@a.example,b.example:5433/db?sslmode=verify-full": [
    "postgres://a.example,b.example:5433/db",
    {
      servers: [
        { host: "a.example", port: undefined },
        { host: "b.example", port: 5433 },
      ],
      ssl: {},
    },
  ],
  "postgres://p@10.0.0.1/db?sslmode=disable": ["postgres://10.0.0.1/db", { ssl: false }],
  "postgres:///db?host=/run/postgresql": [
    "postgres:///run/postgresql/db",
    { servers: [{ host: "/run/postgresql", port: undefined }], ssl: false },
  ],
  "postgres://p@%2Frun%2Fpostgresql:5433/db": [
    "postgres://%2Frun%2Fpostgresql:5433/db",
    { servers: [{ host: "/run/postgresql", port: 5433 }], ssl: false },
  ],
  "postgres:///db?host=/run/postgresql:5433": [
    "postgres:///run/postgresql:5433/db",
    { servers: [{ host: "/run/postgresql", port: 5433 }] },
  ],
};
for (const [url, [name, expected]] of Object.entries(READ)) {
  t.test(url, async (t) => t.match(read(url), { name, ...expected }));
}

const REFUSED: Record<string, RegExp> = {
  "postgres://p:secret@host": /is not of the form postgres:\/\/role:password@host:port\/database/,
  "postgres://p:secret/slash@127.0.0.1/db": /write \/ \? and # in the password as %2F %3F and %23$/,
  "postgres://p:1/secret@host": /is not of the form/,
  "postgres://p:se#secret@127.0.0.1/db": /write \/ \? and # in the password as %2F %3F and %23$/,
  "postgres://p:secret%zz@127.0.0.1/db": /has a % that is no escape/,
  "postgres://p:secret@127.0.0.1:port/db": /names a server 127\.0\.0\.1:port: write it as host:port$/,
  "postgres://p:secret@127.0.0.1:65536/db": /names a server 127\.0\.0\.1:65536: write it as host:port$/,
  "postgres://p:secret@127.0.0.1:0/db": /names a server 127\.0\.0\.1:0: write it as host:port$/,
  "postgres://p:secret@127.0.0.1/db?sslmod=disable": /has a parameter sslmod; it may have host, schema, /,
  "postgres://p:secret@127.0.0.1/db?schema=x;--": /schema must be lower-case letters/,
  "postgres://p:secret@db.example/db":
    /^store postgres:\/\/db\.example\/db is on another machine: add sslmode=verify-full/,
  "postgres://p:secret@127.0.0.1,db.example/db": /is on another machine/,
  "postgres://p:secret@db.example/db?sslmode=require":
    /has sslmode=require, which is not supported: write sslmode=verify-full/,
  "postgres://p:secret@localhost/db?sslmode=prefer":
    /has sslmode=prefer, which is not supported: write sslmode=verify-/,
};
for (const [url, message] of Object.entries(REFUSED)) {
  t.test(`refused: ${url}`, async (t) => {
    const error = await openStore(url, t.testdir()).catch((error) => error);
    t.match(error, { name: "StoreError", message });
    t.notMatch(error.message, "secret");
  });
}
