// A list of authorities may change for ever, as where their addresses come from DNS. A guard keeps
// nothing of those that are no longer in it.
import t from "tap";
import { Authorities, type AuthorityLink } from "../../src/access/follow/authorities.js";
import { OpenGuard } from "../../src/access/guard.js";
import { silent } from "../services/auth/open.js";
import { until } from "../support/until.js";
import { ScriptedAuthority } from "./scripted-authority.js";

type Link = AuthorityLink & { readonly script: ScriptedAuthority };

t.test("the error of an authority goes with the authority", async (t) => {
  const [gone, present] = ["gone", "present"].map((name) => {
    const script = Object.assign(new ScriptedAuthority(), { reachable: false, leaseMs: 20_000 });
    return { name, channel: script.access.channel, log: silent, script };
  }) as [Link, Link];
  const authorities = new Authorities([gone, present]);
  const { admission } = present.script.access;
  const guard = new OpenGuard({ channel: authorities.channel, authorities, admission, log: silent });
  t.teardown(() => guard.close());
  await until(() => guard.errors.size === 2);
  present.script.reachable = true;
  await guard.ready();
  t.same([...guard.errors.keys()], ["gone"]);
  authorities.set([present]);
  t.same([...guard.errors.keys()], []);
});
