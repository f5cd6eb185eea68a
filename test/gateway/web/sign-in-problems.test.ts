// A refused issuer, trust or client: which field of the form says why.
import t from "tap";
import { problemsWith } from "../../../gateway/web/console/sign-in-problems.js";

const ISSUER = { name: "google", clientId: "1234", map: "\nstaff=employee\n\n ops=admin \n" };
const TRUST = { name: "deploy", issuer: "github", audience: "", subject: "", account: "" };
const CLIENT = { name: "app", redirectUris: "https://a.example/\nftp://b.example/" };

const CASES: readonly { draft: object; message: string; problems: Record<string, string> }[] = [
  { draft: ISSUER, message: "name: must be short", problems: { name: "Must be short" } },
  { draft: ISSUER, message: "sign_in.client_id: must be there", problems: { clientId: "Must be there" } },
  { draft: ISSUER, message: "sign_in.map[1]: may not", problems: { map: "ops=admin: may not" } },
  {
    draft: CLIENT,
    message: "redirect_uris[1]: must be https",
    problems: { redirectUris: "ftp://b.example/: must be https" },
  },
  { draft: CLIENT, message: "redirect_uris: must be at most 20", problems: { redirectUris: "Must be at most 20" } },
  ...["an issuer", "a trust", "a client"].map((what) => ({
    draft: TRUST,
    message: `${what} with the name x exists already`,
    problems: { name: `${what.charAt(0).toUpperCase()}${what.slice(1)} with the name x exists already` },
  })),
  { draft: TRUST, message: "no account with the name bob", problems: { account: "No account with the name bob" } },
  { draft: TRUST, message: "no issuer with the name x", problems: { issuer: "No issuer with the name x" } },
  {
    draft: TRUST,
    message: "the trust other has the same audience and subject",
    problems: { subject: "The trust other has the same audience and subject" },
  },
  { draft: { jti: "1" }, message: "no JWT with this jti was used", problems: { jti: "No JWT with this jti was used" } },
  // About no field of the form: the notice above the buttons says it.
  { draft: TRUST, message: "the namespace has 1000 trusts, the most it may; delete one", problems: {} },
  { draft: CLIENT, message: "no account with the name bob", problems: {} },
  { draft: CLIENT, message: "constructor: is no field", problems: {} },
];

for (const { draft, message, problems } of CASES) {
  t.test(message, async (t) => t.same(problemsWith({ message }, draft), problems));
}
