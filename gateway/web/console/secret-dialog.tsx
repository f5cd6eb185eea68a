/** Shows a secret that cannot be shown again. Only a button closes the dialog, so that no slip loses the secret. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { Dialog } from "../ui/dialog.js";

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string;
  /** What the secret is, such as `the key`. */
  readonly what: string;
  readonly onClose: () => void;
  /** How to use it. */
  readonly children?: ComponentChildren;
}

export function SecretDialog({ title, secret, what, onClose, children }: SecretDialogProps) {
  const [warned, setWarned] = useState(false);
  return (
    <Dialog title={title} shownOnce onClose={() => setWarned(true)}>
      <div class="stack dialog-body">
        <p>
          Keep {what} in a safe place. <strong>It cannot be shown again.</strong>
        </p>
        <div class="secret">
          <CopyButton text={secret} what={what} autofocus />
          <code>{secret}</code>
        </div>
        {children}
        {warned && (
          <p class="notice warning" role="alert">
            Have you copied {what}? If so, close with the button below.
          </p>
        )}
      </div>
      <div class="dialog-end">
        <p class="actions end">
          <Button kind="primary" onClick={onClose}>
            I have copied {what}
          </Button>
        </p>
      </div>
    </Dialog>
  );
}
