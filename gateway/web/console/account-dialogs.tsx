/** Dialogs that create an account and set its scopes and password. */
import { useState } from "preact/hooks";
import type { Account } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { type ControlProps, Field, NameField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { FormDialog } from "./form-dialog.js";

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function CreateAccountDialog({ onClose, onDone }: DialogProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [scopes, setScopes] = useState("");
  const act = async () => {
    await call("auth/Accounts/Create", { name, password, scopes: split(scopes) });
    announce(`Account ${name} is created`);
    onDone();
  };
  return (
    <FormDialog title="New account" action="Create account" act={act} onClose={onClose}>
      <NameField
        label="Name"
        hint="Letters, digits and . _ @ + -, such as ada@example.com."
        required
        maxLength={128}
        value={name}
        onInput={setName}
      />
      <Field label="Password" hint={PASSWORD_HINT}>
        {(control) => <NewPassword control={control} value={password} onInput={setPassword} />}
      </Field>
      <ScopesField value={scopes} onInput={setScopes} />
    </FormDialog>
  );
}

export function SetScopesDialog({ account, onClose, onDone }: { readonly account: Account } & DialogProps) {
  const { name } = account;
  const [scopes, setScopes] = useState(account.scopes.join(", "));
  const act = async () => {
    await call("auth/Accounts/SetScopes", { name, scopes: split(scopes) });
    announce(`The scopes of ${name} are set`);
    onDone();
  };
  return (
    <FormDialog title={`Scopes of ${name}`} action="Set scopes" act={act} onClose={onClose}>
      <ScopesField value={scopes} onInput={setScopes} />
    </FormDialog>
  );
}

/** @param props.own whether it is the caller's own account: then the current password is asked for too */
export function SetPasswordDialog({
  name,
  own = false,
  onClose,
  onDone,
}: { readonly name: string; readonly own?: boolean } & DialogProps) {
  const [currentPassword, setCurrentPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  const act = async () => {
    await call("auth/Accounts/SetPassword", { name, currentPassword, newPassword });
    announce(`The password of ${name} is set`);
    onDone();
  };
  return (
    <FormDialog
      title={own ? "Change your password" : `Password of ${name}`}
      action="Set password"
      act={act}
      onClose={onClose}
    >
      <p>
        {own ? "You sign in again with it, here and everywhere else. " : `${name} must sign in again with it. `}
        API keys stay as they are.
      </p>
      {own && (
        <Field label="Current password">
          {(control) => (
            <input
              {...control}
              type="password"
              required
              value={currentPassword}
              onInput={({ currentTarget }) => setCurrentPassword(currentTarget.value)}
              autocomplete="current-password"
            />
          )}
        </Field>
      )}
      <Field label="New password" hint={PASSWORD_HINT}>
        {(control) => <NewPassword control={control} value={newPassword} onInput={setNewPassword} />}
      </Field>
    </FormDialog>
  );
}

const PASSWORD_HINT = "12 to 128 characters. A few words are easier to remember than symbols.";

interface NewPasswordProps {
  readonly control: ControlProps;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function NewPassword({ control, value, onInput }: NewPasswordProps) {
  return (
    <input
      {...control}
      type="password"
      required
      minLength={12}
      maxLength={128}
      value={value}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
      autocomplete="new-password"
    />
  );
}

function ScopesField({ value, onInput }: Omit<NewPasswordProps, "control">) {
  return (
    <NameField
      label="Scopes"
      hint={
        <>
          Separated by commas. Rules grant calls to scopes; <code>admin</code> makes an administrator. May be empty.
        </>
      }
      value={value}
      onInput={onInput}
    />
  );
}

function split(scopes: string): string[] {
  return scopes
    .split(",")
    .map((scope) => scope.trim())
    .filter((scope) => scope !== "");
}
