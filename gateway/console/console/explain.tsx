import { useEffect, useState } from "preact/hooks";
import { call } from "../api.js";
import { useLoad } from "../load.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/error-notice.js";
import { Field } from "../ui/field.js";
import { type Explanation, list, listResources, type Rule } from "./authority.js";
import { CodeBadge } from "./effects.js";
import { RuleTable } from "./rule-table.js";
import { useSubmit } from "./submit.js";

/** Which rule decides about a call, and which others match. `rules`: what it explains is of these. */
export function Explain({ rules }: { readonly rules: readonly Rule[] | undefined }) {
  const { value: accounts = [] } = useLoad(list.accounts, []);
  const { value: resources = [] } = useLoad(listResources, []);
  const [account, setAccount] = useState("");
  const [resource, setResource] = useState("");
  const [answer, setAnswer] = useState<Explanation>();
  const asked = resource || (resources[0] ?? "");
  const { busy, error, submit } = useSubmit(async () => {
    setAnswer(await call<Explanation>("auth/Rules/Explain", { account, resource: asked }));
  });
  // An answer of before is no answer any more.
  useEffect(() => setAnswer(undefined), [account, asked, rules]);
  return (
    <section class="card stack" aria-labelledby="explain">
      <h2 id="explain">Explain a call</h2>
      <form class="explain" onSubmit={submit}>
        <Field label="Who calls">
          {(control) => (
            <select {...control} value={account} onChange={({ currentTarget }) => setAccount(currentTarget.value)}>
              <option value="">Nobody: a call without a token</option>
              {accounts.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="What is called">
          {(control) => (
            <select {...control} value={asked} onChange={({ currentTarget }) => setResource(currentTarget.value)}>
              {resources.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Button type="submit" busy={busy}>
          Explain
        </Button>
      </form>
      {error && <ErrorNotice error={error} />}
      <div role="status" class="stack">
        {answer && <Answer answer={answer} />}
      </div>
    </section>
  );
}

function Answer({ answer: { code, decidedBy, matched } }: { readonly answer: Explanation }) {
  return (
    <>
      <p>
        <CodeBadge code={code} />{" "}
        {decidedBy === undefined ? (
          "No rule matches, so the call is refused."
        ) : (
          <>
            The rule <strong>{decidedBy.id}</strong> decides
            {matched.length > 1 ? ". All that match, in the order they are looked at:" : "; no other matches."}
          </>
        )}
      </p>
      {matched.length > 0 && <RuleTable caption="Rules that match, in the order they are looked at" rules={matched} />}
    </>
  );
}
