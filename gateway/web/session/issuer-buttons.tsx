/** Signing in by an issuer instead of a password. It leaves the page, and comes back to it. */
import { useLoad, useSubmit } from "../state/load.js";
import { Button } from "../ui/button.js";
import { ErrorNotice } from "../ui/notice.js";
import { issuersOf, leaveFor } from "./shared-session.js";

interface IssuerButtonsProps {
  readonly namespace: string;
  /** Whether the page has what was typed before its session ended. */
  readonly isAgain: boolean;
}

/** Nothing where nobody signs in by an issuer, or that is not known: there is the password. */
export function IssuerButtons({ namespace, isAgain }: IssuerButtonsProps) {
  const { value, isCurrent } = useLoad(() => issuersOf(namespace), [namespace]);
  if (!isCurrent || value === undefined || value.publicUrl === "" || value.issuers.length === 0) return null;
  const { issuers, publicUrl } = value;
  if (publicUrl !== location.origin) {
    return (
      <p class="hint">
        To sign in with {issuers.map(({ name }) => name).join(" or ")}, go to{" "}
        <a href={publicUrl + location.pathname}>{publicUrl}</a>.
      </p>
    );
  }
  return (
    <div class="stack">
      {issuers.map((issuer) => (
        <IssuerButton key={issuer.id} {...issuer} />
      ))}
      {isAgain && <p class="hint">That leaves this page, and what you have typed there is lost.</p>}
    </div>
  );
}

function IssuerButton({ id, name }: { readonly id: string; readonly name: string }) {
  const { busy, error, submit } = useSubmit(() => leaveFor(id));
  return (
    <>
      <p class="actions">
        <Button busy={busy} onClick={submit}>
          Continue with {name}
        </Button>
      </p>
      {error && <ErrorNotice error={error} />}
    </>
  );
}
