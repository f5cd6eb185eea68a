import { useState } from "preact/hooks";
import { ApiError } from "./http.js";
import { ended, signIn } from "./session.js";
import { Store, useStore } from "./store.js";
import { Button } from "./ui/button.js";
import { Dialog } from "./ui/dialog.js";
import { Field } from "./ui/field.js";
import { announce } from "./ui/status.js";

const asked = new Store(false);

/** Asks for an account and password, over the page that is shown. */
export function askToSignIn(): void {
  asked.set(true);
}

export function SignInDialog() {
  const shown = useStore(asked);
  if (!shown) return null;
  return (
    <Dialog title="Sign in" onClose={() => asked.set(false)}>
      <SignInForm onDone={() => asked.set(false)} />
    </Dialog>
  );
}

export function SignInForm({ onDone }: { readonly onDone?: () => void }) {
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const why = useStore(ended);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy) return;
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    setBusy(true);
    setError(undefined);
    try {
      const password = String(form.get("password"));
      await signIn({ account: text("account"), password, namespace: text("namespace") });
      announce(`Signed in as ${text("account")}`);
      onDone?.();
    } catch (thrown) {
      setError(ApiError.from(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="stack" onSubmit={onSubmit}>
      {why !== undefined && error === undefined && <p class="notice warning">{why}</p>}
      {error && (
        <div class="notice bad" role="alert">
          <p>{error.message}</p>
          {error.status === 401 && (
            <p>
              The first start of Portico printed the password of <code>admin</code>.
            </p>
          )}
        </div>
      )}
      <Field label="Account">
        {(control) => (
          <input
            {...control}
            name="account"
            required
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
          />
        )}
      </Field>
      <Field label="Password">
        {(control) => <input {...control} name="password" type="password" required autocomplete="current-password" />}
      </Field>
      <Field label="Namespace" hint="Leave it as it is unless you were told another one.">
        {(control) => <input {...control} name="namespace" value="default" autocapitalize="none" spellcheck={false} />}
      </Field>
      <p class="actions">
        <Button type="submit" kind="primary" busy={busy}>
          Sign in
        </Button>
      </p>
      <p class="hint">Your token stays in this page’s memory. After a reload you sign in again.</p>
    </form>
  );
}
