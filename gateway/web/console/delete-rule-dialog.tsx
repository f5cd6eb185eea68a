/** The dialog that deletes a rule. It says first whose calls the deletion changes. */
import type { Rule } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { preview } from "./authority.js";
import { ConfirmDialog } from "./confirm-dialog.js";
import { Effects } from "./effects.js";

interface DeleteRuleDialogProps {
  readonly rule: Rule;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function DeleteRuleDialog({ rule: { id }, onClose, onDone }: DeleteRuleDialogProps) {
  const { value, error, busy, reload } = useLoad((signal) => preview({ delete: id }, signal), [id]);
  return (
    <ConfirmDialog
      title="Delete a rule"
      name={id}
      what="the rule’s ID"
      action="Delete rule"
      waiting={busy}
      act={() => call("auth/Rules/Delete", { id })}
      done={`Rule ${id} is deleted`}
      onClose={onClose}
      onDone={onDone}
    >
      {value !== undefined ? (
        value.length === 0 ? (
          <p>Nobody will notice: for every endpoint that is registered now, other rules decide the same.</p>
        ) : (
          <div class="notice warning">
            <p>
              <strong>These calls will be answered differently, everywhere and at once:</strong>
            </p>
            <Effects effects={value} />
          </div>
        )
      ) : error !== undefined && !busy ? (
        <ErrorNotice error={error} onRetry={reload}>
          <p>So it is not known here whose calls the rule decides.</p>
        </ErrorNotice>
      ) : (
        <Progress label="Finding out what will change" />
      )}
    </ConfirmDialog>
  );
}
