import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { NameField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { FormDialog } from "./form-dialog.js";

interface ConfirmDialogProps {
  readonly title: string;
  /** What must be typed. */
  readonly name: string;
  /** What that is: `the key's name`. */
  readonly what: string;
  /** What the button says: `Revoke key`. */
  readonly action: string;
  /** What will happen is being found out. */
  readonly waiting?: boolean;
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
  const { title, name, what, action, waiting, act, done, onClose, onDone, children } = props;
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const confirm = async () => {
    const isRight = asShown(typed) === asShown(name);
    setWrong(!isRight);
    if (!isRight) return;
    await act();
    announce(done);
    onDone();
  };
  return (
    <FormDialog
      title={title}
      action={action}
      kind="danger"
      disabled={typed === ""}
      waiting={waiting}
      act={confirm}
      onClose={onClose}
    >
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
    </FormDialog>
  );
}

/** Browsers show white space as one space, and none at the ends. */
function asShown(name: string): string {
  return name.trim().replace(/\s+/g, " ");
}
