/** The account in the header: a menu says who is signed in and where, and has the way out. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "./http.js";
import { ended, type Session, signOut, signOutEverywhere, useSession } from "./session/session.js";
import { askToSignIn } from "./session/sign-in.js";
import { useStore } from "./state/store.js";
import { Button } from "./ui/button.js";
import { ChevronIcon } from "./ui/icons.js";
import { announce } from "./ui/status.js";

export function Account() {
  const session = useSession();
  const why = useStore(ended);
  if (session !== undefined && why === undefined) return <Menu session={session} />;
  return (
    <Button small kind={session === undefined ? "secondary" : "primary"} onClick={askToSignIn}>
      <span>Sign in{session !== undefined && <span class="where-wide"> again</span>}</span>
    </Button>
  );
}

function Menu({ session: { account, namespace } }: { readonly session: Session }) {
  const [open, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => place.current?.contains(event.target as Node) || setOpen(false);
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open]);
  return (
    <div class="account" ref={place}>
      <button
        ref={button}
        type="button"
        class="button quiet small"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <span class="hidden">Account </span>
        <span class="who">{namespace === "default" ? account : `${account} · ${namespace}`}</span>
        <ChevronIcon />
      </button>
      {open && (
        <div class="account-menu" id={id}>
          <p>
            Signed in as <strong>{account}</strong>
            <span class="hint">Namespace {namespace}</span>
          </p>
          <p class="actions">
            <Button small onClick={leave}>
              Sign out
            </Button>
            <Button small kind="quiet" onClick={leaveEverywhere}>
              Sign out everywhere
            </Button>
          </p>
        </div>
      )}
    </div>
  );
}

async function leave(): Promise<void> {
  try {
    await signOut();
    announce("Signed out");
  } catch {
    announce("Signed out here. The gateway could not be told, so the token lives on until it expires.", "bad");
  }
}

async function leaveEverywhere(): Promise<void> {
  try {
    await signOutEverywhere();
    announce("Signed out everywhere. API keys stay");
  } catch (thrown) {
    announce(`Nothing was signed out: ${ApiError.from(thrown).message}`, "bad");
  }
}
