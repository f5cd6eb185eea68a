import { useState } from "preact/hooks";
import type { CreateKeyResponse, Key } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { Field } from "../ui/field.js";
import { FormDialog } from "./form-dialog.js";

const OVERLAPS = [
  { overlap: "3600s", title: "For one hour" },
  { overlap: "86400s", title: "For one day" },
  { overlap: "604800s", title: "For seven days" },
  { overlap: "0s", title: "Not at all: it stops now" },
];
const DEFAULT_OVERLAP = "86400s";

interface RotateKeyDialogProps {
  readonly replaced: Key;
  readonly onClose: () => void;
  readonly onDone: (made: CreateKeyResponse) => void;
}

export function RotateKeyDialog({ replaced: { name, prefix }, onClose, onDone }: RotateKeyDialogProps) {
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP);
  const act = async () => {
    onDone(await call("auth/Keys/Rotate", { prefix, overlap }));
  };
  return (
    <FormDialog title={`Rotate ${name}`} action="Rotate key" act={act} onClose={onClose}>
      <p>
        You get a new key with the same name, limits and lifetime. Meanwhile <code>{prefix}…</code> lives on, so that
        you can put the new one in its place without a break.
      </p>
      <Field label="The old key lives on">
        {(control) => (
          <select {...control} value={overlap} onChange={({ currentTarget }) => setOverlap(currentTarget.value)}>
            {OVERLAPS.map((one) => (
              <option key={one.overlap} value={one.overlap}>
                {one.title}
              </option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  );
}
