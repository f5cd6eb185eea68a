/** The end of a form in a dialog: what went wrong, and the two ways out. */
import type { ApiError } from "../http.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/error-notice.js";

interface FormEndProps {
  /** What the form does, in words. */
  readonly action: string;
  readonly kind?: "primary" | "danger";
  readonly busy: boolean;
  readonly disabled?: boolean;
  readonly error: ApiError | undefined;
  readonly onClose: () => void;
}

export function FormEnd({ action, kind = "primary", busy, disabled = false, error, onClose }: FormEndProps) {
  return (
    <>
      {error && <ErrorNotice error={error} />}
      <p class="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind={kind} busy={busy} disabled={disabled}>
          {action}
        </Button>
      </p>
    </>
  );
}
