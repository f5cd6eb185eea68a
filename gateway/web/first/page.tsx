/** The first page: what this is, a live call, and four steps that tick themselves. */
import { useEffect, useRef } from "preact/hooks";
import { ended, isAdmin, type Session, useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useLoad } from "../state/load.js";
import { navigate, replaceAddress, useTitle } from "../state/router.js";
import { Button } from "../ui/button.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { announce } from "../ui/status.js";
import { LiveCall } from "./live-call.js";
import { StepList } from "./step-list.js";
import { type Installation, isDone, readInstallation, remember } from "./steps.js";

/** How often the steps are read again while the page is in sight, in milliseconds. */
const POLL_MS = 3_000;

const CATALOGUE = "/explore";

export default function FirstPage() {
  useTitle("Welcome");
  const session = useSession();
  const { value, error, busy, reload } = useLoad((signal) => readInstallation(session, signal), [session]);
  const shown = useRef(false);
  useEffect(() => {
    if (value === undefined) return;
    // Once it is shown it stays, so that the visitor sees the last step ticked.
    shown.current ||= value.isNew;
    if (!shown.current) replaceAddress(CATALOGUE);
    else if (session !== undefined && isAdmin(session)) remember("begun");
  }, [value]);
  usePolling(reload, busy || value === undefined || isDone(value.steps));
  if (value === undefined && error) return <ErrorNotice error={error} onRetry={reload} />;
  if (value === undefined || !(value.isNew || shown.current)) return <Progress label="Loading" />;
  return <Welcome installation={value} session={session} onCalled={reload} />;
}

/**
 * Reads the steps again while the page is in sight, so that they tick themselves. While they are
 * being read it is idle, because a new attempt ends the one before.
 */
function usePolling(reload: () => void, isIdle: boolean): void {
  useEffect(() => {
    if (isIdle) return;
    const read = () => {
      // A session that has ended asks for a password at each call.
      if (document.visibilityState === "visible" && ended.value === undefined) reload();
    };
    const timer = setInterval(read, POLL_MS);
    addEventListener("focus", read);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", read);
    };
  }, [isIdle, reload]);
}

interface WelcomeProps {
  readonly installation: Installation;
  readonly session: Session | undefined;
  readonly onCalled: () => void;
}

function Welcome({ installation: { steps, live }, session, onCalled }: WelcomeProps) {
  const called = () => {
    remember("called");
    onCalled();
  };
  const dismiss = () => {
    remember("dismissed");
    announce("In this browser this address now leads to the catalogue");
    navigate(CATALOGUE);
  };
  const isAdministrator = session !== undefined && isAdmin(session);
  return (
    <div class="first">
      <section class="first-head">
        <p class="first-place">
          Portico at <code>{location.host}</code>
        </p>
        <h1>The HTTP door to your gRPC services.</h1>
        <p class="lead">
          It reads their contracts, and serves their endpoints here as JSON, REST, gRPC and tools for agents. Rules
          decide who may call what.
        </p>
      </section>
      <LiveCall live={live} onCalled={called} />
      <section class="stack" aria-labelledby="first-steps">
        <h2 id="first-steps">{isDone(steps) ? "All four steps are done" : "Four steps to your own door"}</h2>
        <StepList steps={steps} />
        {!isAdministrator && (
          <p class="first-note">
            The rules and the keys are known to administrators only.
            <Button small onClick={askToSignIn}>
              Sign in to tick the steps
            </Button>
          </p>
        )}
      </section>
      <p class="first-end">
        <a class={isDone(steps) ? "button primary" : "button"} href={CATALOGUE}>
          Open the catalogue
        </a>
        {!isDone(steps) && (
          <Button kind="quiet" onClick={dismiss}>
            Do not show this again in this browser
          </Button>
        )}
      </p>
    </div>
  );
}
