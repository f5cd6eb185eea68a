/** The dialogs of the console: a form, a confirmation, and a secret that is shown once. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { ApiError } from "../http.js";
import { useSubmit } from "../state/load.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { announce } from "../ui/status.js";

/** The properties that a page gives to a dialog. */
export interface DialogProps<Result = unknown> {
  readonly onClose: () => void;
  /** Called with the result of the dialog's action. */
  readonly onDone: (result: Result) => void;
}

interface FormDialogProps<Result> extends DialogProps<Result> {
  readonly title: string;
  readonly action: string;
  readonly kind?: "primary" | "danger";
  /** Why the action cannot be taken yet. It is shown beside the button, which does nothing. */
  readonly locked?: string | undefined;
  /** What stays in sight, above the form. */
  readonly start?: ComponentChildren;
  /** What stays in sight, above the buttons, however long the form is. */
  readonly end?: ComponentChildren;
  /**
   * Runs the action. Returns undefined, or resolves to it, where the action was not taken because
   * of what was typed; the fields then say why.
   */
  readonly act: () => Promise<Result | undefined> | undefined;
  /** The message that is announced afterwards. */
  readonly done?: string;
  readonly children: ComponentChildren;
}

/**
 * A form in a dialog. Below it are the error of the last attempt and two buttons. While an attempt
 * runs, nothing closes the dialog.
 */
export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, action, kind = "primary", locked, act, done, start, end, children } = props;
  const { onClose, onDone } = props;
  const reason = useId();
  const { busy, error, submit } = useSubmit(async () => {
    const result = await act();
    if (result === undefined) return;
    if (done !== undefined) announce(done);
    onDone(result);
  });
  return (
    <Dialog title={title} busy={busy} onClose={onClose}>
      <form class="dialog-form" onSubmit={submit}>
        {start}
        <div class="stack dialog-body">{children}</div>
        <div class="dialog-end">
          {end}
          {error && <ErrorNotice error={error} />}
          {locked !== undefined && (
            <p class="hint" id={reason}>
              {locked}
            </p>
          )}
          <p class="actions end">
            <Button onClick={onClose} disabled={busy}>
              Cancel
            </Button>
            <Button
              type="submit"
              kind={kind}
              busy={busy}
              disabled={locked !== undefined}
              aria-describedby={locked && reason}
            >
              {action}
            </Button>
          </p>
        </div>
      </form>
    </Dialog>
  );
}

/**
 * Which field the authority refused, and why. The Detail begins with the field: `limit.rate: …`.
 * @param message the name of the request's field that the form fills in, such as `limit`
 */
export function problemsIn(error: ApiError, message: string): Readonly<Record<string, string>> {
  const [, of, field = "", problem = ""] = /^(\w+)\.(\w+): (.*)$/s.exec(error.message) ?? [];
  return of === message ? { [field]: problem.charAt(0).toUpperCase() + problem.slice(1) } : {};
}

interface ConfirmDialogProps extends Omit<FormDialogProps<unknown>, "kind" | "end"> {
  /** The text that the visitor types to confirm. */
  readonly name: string;
  /** What the name is, such as `the key's name`. */
  readonly what: string;
}

/**
 * Asks before an action that cannot be undone: the visitor types the name of its object. The
 * children describe its effects.
 */
export function ConfirmDialog({ name, what, act, locked, children, ...form }: ConfirmDialogProps) {
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState(false);
  const confirm = () => {
    const isRight = asShown(typed) === asShown(name);
    setWrong(!isRight);
    return isRight ? act() : undefined;
  };
  return (
    <FormDialog
      {...form}
      kind="danger"
      locked={locked ?? (typed === "" ? `Locked until you have typed ${what}.` : undefined)}
      act={confirm}
      end={
        <TextField
          label={
            <>
              Type {what}, <code>{name}</code>, to confirm
            </>
          }
          error={wrong ? "This is not the name. Type it as it is shown." : undefined}
          value={typed}
          onInput={setTyped}
        />
      }
    >
      {children}
    </FormDialog>
  );
}

/** A name as a browser shows it: white space is one space, and there is none at the ends. */
function asShown(name: string): string {
  return name.trim().replace(/\s+/g, " ");
}

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string;
  /** What the secret is, such as `the key`. */
  readonly what: string;
  readonly onClose: () => void;
  /** How to use it. */
  readonly children?: ComponentChildren;
}

/**
 * Shows a secret that cannot be shown again. Only a button closes the dialog, so that the secret is
 * not lost by mistake.
 */
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
