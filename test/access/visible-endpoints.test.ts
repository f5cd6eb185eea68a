// Which endpoints lists and documents show: to administrators of the installation, what they
// administer; to all others, what they may call.
import t from "tap";
import { isVisible } from "../../src/call/admission.js";
import { endpointAt } from "./endpoints.js";
import { start } from "./scripted-authority.js";

const GET = "service:orders:Orders.Get";
const PAY = "service:billing:Billing.Pay";
const OPEN = "service:open:Open.Call";

const rows: readonly [what: string, caller: object, visible: readonly string[]][] = [
  ["an account", {}, [OPEN]],
  ["an administrator of the installation", { scopes: ["admin"] }, [GET, PAY, OPEN]],
  ["one of some resources", { scopes: ["admin:on:service:orders:*"] }, [GET, OPEN]],
  ["by an API key that administers nothing", { scopes: ["admin:on:service:orders:*"], callsOnly: true }, [OPEN]],
  ["by a key for other resources", { scopes: ["admin:on:service:orders:*"], resources: ["service:open:*"] }, [OPEN]],
  ["of another namespace", { scopes: ["admin:on:service:orders:*"], namespace: "other" }, []],
];

t.test("an endpoint is shown to who administers it or may call it", async (t) => {
  const { guard } = await start(t, { rules: ["<public> granted service:open:*"], leaseMs: 30_000 });
  await guard.ready();
  const account = {
    namespace: "default",
    account: "dora",
    scopes: [],
    resources: [],
    expires: Number.MAX_SAFE_INTEGER,
  };
  for (const [what, fields, visible] of rows) {
    const caller = { ...account, ...fields };
    const found = [GET, PAY, OPEN].filter((resource) =>
      isVisible(guard, { caller, namespace: caller.namespace }, endpointAt(resource)),
    );
    t.same(found, visible, what);
  }
});
