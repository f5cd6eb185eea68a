// The names that no service may have are exactly the roots that dialects and other parts of the
// gateway declare.
import { join } from "node:path";
import t from "tap";
import { ADMIN_ROOTS } from "../../gateway/built-in/admin.js";
import { BUILT_IN_SERVICE_ROOTS } from "../../gateway/built-in/grpc-services.js";
import { Pages } from "../../gateway/built-in/pages.js";
import { dialectsOf } from "../../gateway/dialects/dialects.js";
import { ServedDocuments } from "../../gateway/openapi/served.js";
import { loadConfig } from "../../src/config/config.js";
import { BUILT_IN_ROOTS, NAME, RESERVED_NAMES } from "../../src/contract/names.js";
import { deploy } from "./deployment.js";

t.test("the reserved roots are those that dialects and parts of the gateway declare", async (t) => {
  const built = { "index.html": "page", "index.html.br": "", "index.html.gz": "", "files.json": "{}", assets: {} };
  const folder = t.testdir({ built });
  const it = await deploy(folder);
  t.teardown(() => it.close());
  const { catalog, guard, health, oauth, pageSessions } = it;
  const pages = new Pages({ folder: join(folder, "built") });
  const { byPath } = dialectsOf({ catalog, guard, config: loadConfig({}, {}) });
  const declared = [health, pages, oauth, pageSessions, new ServedDocuments({ catalog, guard }), ...byPath].flatMap(
    ({ roots }) => roots,
  );
  const roots = new Set([...declared, ...ADMIN_ROOTS, ...BUILT_IN_SERVICE_ROOTS]);
  t.same([...roots].sort(), [...BUILT_IN_ROOTS].sort());
});

t.test("no service can have the name of a reserved root", async (t) => {
  const names = BUILT_IN_ROOTS.map((root) => root.slice(1)).filter((name) => NAME.test(name));
  t.same([...RESERVED_NAMES].sort(), names.sort());
  t.same(
    names,
    [
      "connect",
      "console",
      "device",
      "explore",
      "gateway",
      "livez",
      "mcp",
      "metrics",
      "oauth",
      "openapi",
      "readyz",
      "session",
      "v1",
    ],
    "a new one refuses services that have the name",
  );
});
