/**
 * A form in a dialog. Below it stand the error of the last try and two buttons; while a try runs, nothing closes it.
 */
import type { ComponentChildren } from "preact";
import { useSubmit } from "../state/submit.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { ErrorNotice } from "../ui/notice.js";

interface FormDialogProps {
  readonly title: string;
  /** The button's label. */
  readonly action: string;
  readonly kind?: "primary" | "danger";
  /** Whether nothing is filled in yet. */
  readonly disabled?: boolean;
  /** Whether its effects are still being loaded, which should be read first. */
  readonly waiting?: boolean | undefined;
  readonly act: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

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
