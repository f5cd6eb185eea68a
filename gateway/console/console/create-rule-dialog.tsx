import { useEffect, useState } from "preact/hooks";
import { call } from "../api.js";
import { ApiError } from "../http.js";
import { useLoad } from "../load.js";
import { Dialog } from "../ui/dialog.js";
import { Field } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { type Effect, listResources, preview, type Rule } from "./authority.js";
import { Effects } from "./effects.js";
import { FormEnd } from "./form-end.js";
import { NameField } from "./name-field.js";
import { coveredBy, problemOf } from "./pattern.js";
import { useSubmit } from "./submit.js";

interface CreateRuleDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Says, while it is filled in, what the rule covers and whose calls it will answer otherwise. */
export function CreateRuleDialog({ onClose, onDone }: CreateRuleDialogProps) {
  const [rule, setRule] = useState<Rule>({ id: "", scope: "", access: "GRANTED", resource: "", priority: 0 });
  const set = (fields: Partial<Rule>) => setRule({ ...rule, ...fields });
  const foreseen = useForeseen(rule);
  const { busy, error, submit } = useSubmit(async () => {
    await call("auth/Rules/Create", { rule });
    announce(`Rule ${rule.id} is created`);
    onDone();
  });
  return (
    <Dialog title="New rule" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <NameField
          label="ID"
          hint="Names the rule, such as onlyloggedin."
          error={foreseen.problems.id}
          required
          value={rule.id}
          onInput={(id) => set({ id })}
        />
        <Field label="Access">
          {(control) => (
            <select
              {...control}
              value={rule.access}
              onChange={({ currentTarget }) => set({ access: currentTarget.value as Rule["access"] })}
            >
              <option value="GRANTED">Granted</option>
              <option value="DENIED">Denied</option>
            </select>
          )}
        </Field>
        <NameField
          label="Scope"
          hint={
            <>
              <code>&lt;public&gt;</code> for everyone, <code>*</code> for anyone logged in, or a scope that accounts
              hold.
            </>
          }
          error={foreseen.problems.scope}
          required
          list="scopes"
          value={rule.scope}
          onInput={(scope) => set({ scope })}
        />
        <datalist id="scopes">
          <option value="<public>" />
          <option value="*" />
        </datalist>
        <PatternField value={rule.resource} onInput={(resource) => set({ resource })} />
        <Field label="Priority" hint="A higher one is looked at first.">
          {(control) => (
            <input
              {...control}
              type="number"
              step="1"
              required
              value={rule.priority}
              onInput={({ currentTarget }) => set({ priority: currentTarget.valueAsNumber || 0 })}
            />
          )}
        </Field>
        <Foreseen effects={foreseen.effects} />
        <FormEnd action="Create rule" busy={busy} error={error} onClose={onClose} />
      </form>
    </Dialog>
  );
}

interface PatternFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function PatternField({ value, onInput }: PatternFieldProps) {
  const { value: resources = [] } = useLoad(listResources, []);
  const covered = coveredBy(value, resources);
  const problem = value === "" ? undefined : problemOf(value);
  const hint =
    value === "" || problem !== undefined ? (
      <>
        Three segments, type:name:endpoint; each a word, <code>*</code>, or a word ending in <code>*</code>, such as{" "}
        <code>service:helloworld:*</code>.
      </>
    ) : covered.length === 0 ? (
      "Covers no endpoint that is there now."
    ) : (
      `Covers ${covered.length} of ${resources.length} endpoints: ${covered.slice(0, MOST_COVERED).join(", ")}${covered.length > MOST_COVERED ? ", …" : ""}`
    );
  return (
    <>
      <NameField
        label="Resource"
        hint={hint}
        error={problem}
        required
        list="resources"
        value={value}
        onInput={onInput}
      />
      <datalist id="resources">
        <option value="*:*:*" />
        {resources.map((resource) => (
          <option key={resource} value={resource} />
        ))}
      </datalist>
    </>
  );
}

const MOST_COVERED = 3;

function Foreseen({ effects }: { readonly effects: readonly Effect[] | undefined }) {
  return (
    <div role="status">
      {effects !== undefined && (
        <div class={effects.length > 0 ? "notice warning" : "notice"}>
          <p>
            {effects.length > 0
              ? "This rule will change how calls are answered:"
              : "This rule will change nothing for those who are there now."}
          </p>
          <Effects effects={effects} />
        </div>
      )}
    </div>
  );
}

interface WhatIsForeseen {
  /** Undefined until the rule is complete. */
  readonly effects: readonly Effect[] | undefined;
  /** What the authority says is wrong, by field. */
  readonly problems: { readonly id?: string; readonly scope?: string };
}

/** How long to wait for the next keystroke, in milliseconds. */
const PAUSE = 300;

/** Asks the authority what the rule would change, when nobody has typed for a moment. */
function useForeseen(rule: Rule): WhatIsForeseen {
  const [foreseen, setForeseen] = useState<WhatIsForeseen>(NOTHING);
  useEffect(() => {
    setForeseen(NOTHING);
    if (rule.id === "" || rule.scope === "" || problemOf(rule.resource) !== undefined) return;
    const gone = new AbortController();
    const ask = async () => {
      try {
        const effects = await preview({ create: rule }, gone.signal);
        if (!gone.signal.aborted) setForeseen({ effects, problems: {} });
      } catch (thrown) {
        if (!gone.signal.aborted) setForeseen({ effects: undefined, problems: problemsOf(ApiError.from(thrown)) });
      }
    };
    const timer = setTimeout(ask, PAUSE);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [rule]);
  return foreseen;
}

const NOTHING: WhatIsForeseen = { effects: undefined, problems: {} };

/** The authority names the field, `create.id: …`, and says where an ID is taken. Other failures show when it is created. */
function problemsOf({ status, message }: ApiError): WhatIsForeseen["problems"] {
  if (status === 409) return { id: "A rule with this ID exists already" };
  const [, field, problem = ""] = /^create\.(id|scope): (.*)$/s.exec(message) ?? [];
  return field === undefined ? {} : { [field]: problem.charAt(0).toUpperCase() + problem.slice(1) };
}
