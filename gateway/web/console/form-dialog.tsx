import type { ComponentChildren } from "preact";
import { useSubmit } from "../state/submit.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { ErrorNotice } from "../ui/notice.js";

interface FormDialogProps {
  readonly title: string;
  /** What the form does, in words. */
  readonly action: string;
  readonly kind?: "primary" | "danger";
  /** Nothing is filled in yet. */
  readonly disabled?: boolean;
  /** Its effect is being found out, and should be read first. */
  readonly waiting?: boolean | undefined;
  readonly act: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A form in a dialog, which ends with what went wrong and the two ways out. Until the answer there is no way out. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, kind = "primary", disabled = false, waiting = false, act, onClose, children } = props;
  const { busy, error, submit } = useSubmit(act);
  return (
    <Dialog title={title} busy={busy} onClose={onClose}>
      <form class="dialog-form" onSubmit={submit}>
        <div class="stack dialog-body">{children}</div>
        <div class="dialog-end">
          {error && <ErrorNotice error={error} />}
          <p class="actions end">
            <Button onClick={onClose} disabled={busy}>
              Cancel
            </Button>
            <Button type="submit" kind={kind} busy={busy || waiting} disabled={disabled}>
              {action}
            </Button>
          </p>
        </div>
      </form>
    </Dialog>
  );
}
