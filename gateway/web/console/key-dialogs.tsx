/** The dialogs that rotate and revoke an API key. */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { SelectField } from "../ui/field.js";
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { Moment } from "./time.js";

const OVERLAPS = [
  ["3600s", "For one hour"],
  ["86400s", "For one day"],
  ["604800s", "For seven days"],
  ["0s", "Not at all: it ends now"],
] as const;
const DEFAULT_OVERLAP = "86400s";

type RotateKeyDialogProps = { readonly replaced: Key } & DialogProps<CreateKeyResponse>;

export function RotateKeyDialog({ replaced: { name, prefix }, ...props }: RotateKeyDialogProps) {
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const act = () => call("auth/Keys/Rotate", { prefix, overlap });
  return (
    <FormDialog {...props} title={`Rotate ${name}`} action="Rotate key" act={act}>
      <p>
        You get a new key with the same name, limits and lifetime. The old one, <code>{prefix}…</code>, stays valid for
        a while, so that you can replace it without a break.
      </p>
      <SelectField label="The old key stays valid" options={OVERLAPS} value={overlap} onInput={setOverlap} />
    </FormDialog>
  );
}

export function RevokeKeyDialog({ revoked, ...props }: { readonly revoked: Key } & DialogProps) {
  const { name, prefix, lastUsed } = revoked;
  return (
    <ConfirmDialog
      {...props}
      title="Revoke a key"
      name={name}
      what="the key’s name"
      action="Revoke key"
      act={() => call("auth/Keys/Revoke", { prefix })}
      done={`Key ${name} is revoked`}
    >
      <p>
        Calls with <code>{prefix}…</code> are refused at once, everywhere.{" "}
        {lastUsed ? (
          <>
            It was last used <Moment at={lastUsed} relative />.
          </>
        ) : (
          "It has never been used."
        )}
      </p>
    </ConfirmDialog>
  );
}
