/**
 * Signing in: a dialog over the page that is shown, and the same form on the console's first page.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../http.js";
import { Store, useStore } from "../state/store.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { Field } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { announce } from "../ui/status.js";
import { IssuerButtons } from "./issuer-buttons.js";
import { ended, notArrived, session, signedInElsewhere, signIn, signOut } from "./session.js";
import { canShare } from "./shared-session.js";

const DEFAULT_NAMESPACE = "default";
const asked = new Store(false);
// The dialog opens over the page, so the text that was typed there stays.
ended.follow((why) => {
  if (why !== undefined) asked.set(true);
});
// The console has the form in its place.
notArrived.follow((why) => {
  if (why !== undefined && !location.pathname.startsWith("/console")) asked.set(true);
});
const signingIn = new Store(false);
signedInElsewhere.follow(() => session.value !== undefined && ended.value === undefined && asked.set(false));

/** Asks for an account and password, over the page that is shown. */
export function askToSignIn(): void {
  asked.set(true);
}

/** Calls `act` when the visitor has signed in by the dialog, and the dialog is closed. */
export function useSignedInAgain(act: () => void): void {
  const shown = useStore(asked);
  const latest = useRef(act);
  latest.current = act;
  const wasShown = useRef(shown);
  useEffect(() => {
    if (wasShown.current && !shown && session.value !== undefined && ended.value === undefined) latest.current();
    wasShown.current = shown;
  }, [shown]);
}

export function SignInDialog() {
  const shown = useStore(asked);
  const busy = useStore(signingIn);
  if (!shown) return null;
  return (
    <Dialog title="Sign in" busy={busy} onClose={() => asked.set(false)}>
      <SignInForm onDone={() => asked.set(false)} />
      <LeaveSession />
    </Dialog>
  );
}

/** A button to leave a session that has ended, instead of signing in again. */
function LeaveSession() {
  const why = useStore(ended);
  const before = useStore(session);
  if (why === undefined || before === undefined) return null;
  const leave = () => {
    asked.set(false);
    // There is no token to revoke.
    signOut();
  };
  return (
    <div class="stack">
      <p class="hint">
        If <code>{before.account}</code> signs in, the page stays as it is. For any other account it starts empty.
      </p>
      <p class="actions">
        <Button small onClick={leave}>
          Sign out instead
        </Button>
      </p>
    </div>
  );
}

export function SignInForm({ onDone }: { readonly onDone?: () => void }) {
  const { failure, submit } = useSignIn(onDone);
  const busy = useStore(signingIn);
  const why = useStore(ended);
  const arrival = useStore(notArrived);
  const before = useStore(session);
  const [namespace, setNamespace] = useState(before?.namespace ?? DEFAULT_NAMESPACE);
  return (
    <form class="stack" onSubmit={submit}>
      {why !== undefined && failure === undefined && (
        <p class="notice warning" role="status">
          {why}
        </p>
      )}
      {failure && <SignInFailure {...failure} />}
      {arrival && !failure && <ErrorNotice error={arrival} />}
      <CredentialFields onNamespace={setNamespace} />
      <p class="actions">
        <Button type="submit" kind="primary" busy={busy}>
          Sign in
        </Button>
      </p>
      {canShare() && <IssuerButtons namespace={namespace} isAgain={before !== undefined} />}
      <p class="hint">
        {canShare()
          ? "You stay signed in in this browser until you sign out, or have not used it for 12 hours."
          : "Your token stays in this page’s memory. After a reload you sign in again."}
      </p>
    </form>
  );
}

/** Signs in with the values of the form. Returns why the last attempt failed. */
function useSignIn(onDone: (() => void) | undefined) {
  const [failure, setFailure] = useState<Failure>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (signingIn.value) return;
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const [account, namespace] = [text("account"), text("namespace")];
    signingIn.set(true);
    setFailure(undefined);
    try {
      await signIn({ account, password: String(form.get("password")), namespace });
      announce(`Signed in as ${account}`);
      onDone?.();
    } catch (thrown) {
      setFailure({ error: ApiError.from(thrown), account, namespace });
    } finally {
      signingIn.set(false);
    }
  };
  return { failure, submit };
}

/**
 * If a session has ended, its account and namespace are filled in. Not by `value`: drawing the form
 * again would replace what was typed.
 */
function CredentialFields({ onNamespace }: { readonly onNamespace: (namespace: string) => void }) {
  const before = useStore(session);
  return (
    <>
      <Field label="Account">
        {(control) => (
          <input
            {...control}
            name="account"
            defaultValue={before?.account}
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
      <Field label="Namespace" hint="Keep this unless you were given another namespace.">
        {(control) => (
          <input
            {...control}
            name="namespace"
            defaultValue={before?.namespace ?? DEFAULT_NAMESPACE}
            onChange={({ currentTarget }) => onNamespace(currentTarget.value.trim() || DEFAULT_NAMESPACE)}
            autocapitalize="none"
            spellcheck={false}
          />
        )}
      </Field>
    </>
  );
}

interface Failure {
  readonly error: ApiError;
  readonly account: string;
  readonly namespace: string;
}

function SignInFailure({ error, account, namespace }: Failure) {
  const isFirst = account === "admin" && (namespace === "" || namespace === "default");
  return (
    <div class="notice bad" role="alert">
      <p>{error.message}</p>
      {error.status === 401 && isFirst && (
        <p>
          The first start of Portico printed the password of <code>admin</code>.
        </p>
      )}
    </div>
  );
}
