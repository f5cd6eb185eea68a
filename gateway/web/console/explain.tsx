/** Explains a call: which rule decides, and which others match. */
import { useState } from "preact/hooks";
import type { ExplainResponse, Rule } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { type Loading, useLoad } from "../state/load.js";
import { Button } from "../ui/button.js";
import { SelectField } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { list, listResources } from "./authority.js";
import { CodeBadge, RuleTable } from "./rule-table.js";

interface Question {
  /** Empty for a call without a token. */
  readonly account: string;
  readonly resource: string;
  /** The rules at the time of the question. */
  readonly rules: readonly Rule[] | undefined;
}

/** @param props.rules the present rules; an explanation of earlier rules is not shown */
export function Explain({ rules }: Pick<Question, "rules">) {
  const accounts = useLoad(list.accounts, []);
  const resources = useLoad(listResources, []);
  const [account, setAccount] = useState("");
  const [chosen, setChosen] = useState("");
  const resource = chosen || (resources.value?.[0] ?? "");
  const [asked, setAsked] = useState<Question>();
  const { value, isCurrent, error, busy } = useLoad(async (signal) => asked && explain(asked, signal), [asked]);
  // The form may have changed since the question was asked.
  const isAsked = asked?.account === account && asked.resource === resource && asked.rules === rules;
  const names = accounts.value?.map(({ name }) => [name, name] as const) ?? [];
  const callers = [["", "Nobody: a call without a token"] as const, ...names];
  const ask = (event: Event) => {
    event.preventDefault();
    setAsked({ account, resource, rules });
  };
  return (
    <section class="card stack" aria-labelledby="explain">
      <h2 id="explain">Explain a call</h2>
      <form class="explain" onSubmit={ask}>
        <SelectField label="Who calls" options={callers} value={account} onInput={setAccount} />
        <SelectField
          label="What is called"
          options={resources.value?.map((one) => [one, one]) ?? []}
          value={resource}
          onInput={setChosen}
        />
        <Button type="submit" busy={isAsked && busy} disabled={resource === ""}>
          Explain
        </Button>
      </form>
      <NotListed loading={accounts} what="The accounts" />
      <NotListed loading={resources} what="The endpoints" />
      {isAsked && error && <ErrorNotice error={error} />}
      <div role="status" class="stack">
        {isAsked && isCurrent && value && <ExplainResult question={asked} response={value} />}
      </div>
    </section>
  );
}

function explain({ account, resource }: Question, signal: AbortSignal): Promise<ExplainResponse> {
  return call("auth/Rules/Explain", { account, resource }, signal);
}

function NotListed({
  loading: { error, reload },
  what,
}: {
  readonly loading: Loading<unknown>;
  readonly what: string;
}) {
  if (error === undefined) return null;
  return (
    <ErrorNotice error={error} onRetry={reload}>
      <p>{what} could not be listed, so none can be chosen here.</p>
    </ErrorNotice>
  );
}

interface ExplainResultProps {
  readonly question: Question;
  readonly response: ExplainResponse;
}

function ExplainResult({
  question: { account, resource },
  response: { code, decidedBy, matched, disabled },
}: ExplainResultProps) {
  return (
    <>
      <p>
        <CodeBadge code={code} /> <strong>{account === "" ? "A call without a token" : account}</strong> at{" "}
        <code>{resource}</code>:{" "}
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
      {disabled.length > 0 && (
        <>
          <p>Switched off, so they decide nothing:</p>
          <RuleTable caption="Rules that would match, but are switched off" rules={disabled} />
        </>
      )}
    </>
  );
}
