/** The page of the rules: who may call what, and why. */
import { useState } from "preact/hooks";
import type { Rule } from "../../../src/api/types.js";
import { useLoad } from "../state/load.js";
import { Button } from "../ui/button.js";
import { EmptyState } from "../ui/notice.js";
import { list } from "./authority.js";
import { Explain } from "./explain.js";
import { Loaded, NewButton, PageHead } from "./page-frame.js";
import { CreateRuleDialog, DeleteRuleDialog } from "./rule-dialogs.js";
import { RuleList } from "./rule-list.js";

export function RulesPage() {
  const rules = useLoad(list.rules, []);
  /** The rule that the new one begins as; true for an empty one. */
  const [creating, setCreating] = useState<Rule | boolean>(false);
  const [deleted, setDeleted] = useState<Rule>();
  const onClose = () => {
    setCreating(false);
    setDeleted(undefined);
    // After an attempt that failed, the rules may be otherwise than they are shown.
    rules.reload();
  };
  const props = { onClose, onDone: onClose };
  return (
    <>
      <PageHead
        title="Rules"
        lead="Of the rules that match a call, the one with the highest priority decides; at equal priority, denied beats granted. Where none matches, the call is refused."
      >
        <NewButton title="New rule" onClick={() => setCreating(true)} />
      </PageHead>
      <Loaded loading={rules} what="the rules">
        {(all) =>
          all.length === 0 ? (
            <EmptyState title="No rules: every call is refused">
              <p>
                Grant calls with a first rule. To let in every caller with a token, grant <code>*:*:*</code> to the
                scope
                <code>*</code>.
              </p>
              <Button kind="primary" onClick={() => setCreating(true)}>
                Create the first rule
              </Button>
            </EmptyState>
          ) : (
            <RuleList rules={all} onChanged={rules.reload} onDelete={setDeleted} onDuplicate={setCreating} />
          )
        }
      </Loaded>
      <Explain rules={rules.value} />
      {creating && (
        <CreateRuleDialog
          initial={creating === true ? undefined : { ...creating, id: "", disabled: false }}
          {...props}
        />
      )}
      {deleted && <DeleteRuleDialog rule={deleted} {...props} />}
    </>
  );
}
