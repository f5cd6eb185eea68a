import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../ui/dialog.js";
import { announce } from "../ui/status.js";
import { FormEnd } from "./form-end.js";
import { NameField } from "./name-field.js";
import { useSubmit } from "./submit.js";

interface ConfirmDialogProps {
  readonly title: string;
  /** What must be typed. */
  readonly name: string;
  /** What that is: `the key's name`. */
  readonly what: string;
  /** What the button says: `Revoke key`. */
  readonly action: string;
  readonly act: () => Promise<unknown>;
  /** What is said when it is done. */
  readonly done: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
  /** What will happen. */
  readonly children: ComponentChildren;
}

/** Before something that cannot be undone: its name is typed, so that it is not the wrong one. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, name, what, action, act, done, onClose, onDone, children } = props;
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const { busy, error, submit } = useSubmit(async () => {
    setWrong(typed !== name);
    if (typed !== name) return;
    await act();
    announce(done);
    onDone();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        {children}
        <NameField
          label={
            <>
              Type {what}, <code>{name}</code>, to confirm
            </>
          }
          error={wrong ? "This is not the name. Type it as it is shown." : undefined}
          value={typed}
          onInput={setTyped}
        />
        <FormEnd action={action} kind="danger" busy={busy} disabled={typed === ""} error={error} onClose={onClose} />
      </form>
    </Dialog>
  );
}
