/** Asks before an action that cannot be undone: the visitor types the name of its object. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { NameField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { FormDialog } from "./form-dialog.js";

interface ConfirmDialogProps {
  readonly title: string;
  /** What the visitor types to confirm. */
  readonly name: string;
  /** What the name is, such as `the key's name`. */
  readonly what: string;
  /** The button's label, such as `Revoke key`. */
  readonly action: string;
  /** Whether the effects are still being loaded. */
  readonly waiting?: boolean;
  readonly act: () => Promise<unknown>;
  /** Announced afterwards. */
  readonly done: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
  /** Describes the effects. */
  readonly children: ComponentChildren;
}

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

/** A name as a browser shows it: white space is one space, and none at the ends. */
function asShown(name: string): string {
  return name.trim().replace(/\s+/g, " ");
}
