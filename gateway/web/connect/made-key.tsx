/** A key for the service that is shown, made on one click: limited to it, with an expiry. */
import { useState } from "preact/hooks";
import type { CreateKeyResponse } from "../../../src/api/types.js";
import { Moment } from "../console/time.js";
import { call } from "../session/api.js";
import type { Session } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useSubmit } from "../state/load.js";
import { useStay } from "../state/router.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { ErrorNotice } from "../ui/notice.js";
import { announce } from "../ui/status.js";

const DAYS = 30;
const LIFETIME = `${DAYS * 86_400}s`;

/** The secret of a key for one service. */
export interface KeyOf {
  readonly service: string;
  readonly secret: string;
}

interface MadeKeyProps {
  readonly service: string;
  readonly session: Session | undefined;
  /** Undefined when the key is no longer shown. */
  readonly onKey: (key: KeyOf | undefined) => void;
}

interface Made extends CreateKeyResponse {
  readonly service: string;
}

/** A key that was made stays in sight until it is hidden, whichever service is shown. */
export function MadeKey({ service, session, onKey }: MadeKeyProps) {
  const [made, setMade] = useState<Made>();
  const { busy, error, submit } = useSubmit(async () => {
    const resources = [`service:${service}:*`];
    const created = await call("auth/Keys/Create", { name: `connect ${service}`, lifetime: LIFETIME, resources });
    setMade({ ...created, service });
    onKey({ service, secret: created.secret });
  });
  useStay(made !== undefined, () => announce("The key is shown only now. Hide it first, then leave this page.", "bad"));
  if (session === undefined) {
    return (
      <div class="stack">
        <p class="hint">A key for this service alone can be made here.</p>
        <p class="actions">
          <Button onClick={askToSignIn}>Sign in to make a key</Button>
        </p>
      </div>
    );
  }
  if (made !== undefined) {
    const hide = () => {
      setMade(undefined);
      onKey(undefined);
    };
    return <ShownKey made={made} isOfShown={made.service === service} onHide={hide} />;
  }
  return (
    <div class="stack">
      <p class="hint">
        A key calls as <code>{session.account}</code>, only <code>service:{service}:*</code>, for {DAYS} days. It is
        written into what is below.
      </p>
      <p class="actions">
        <Button kind="primary" busy={busy} onClick={submit}>
          Make a key
        </Button>
      </p>
      {error && <ErrorNotice error={error} />}
    </div>
  );
}

interface ShownKeyProps {
  readonly made: Made;
  /** Whether it is for the service that is shown. */
  readonly isOfShown: boolean;
  readonly onHide: () => void;
}

function ShownKey({ made: { key, secret, service }, isOfShown, onHide }: ShownKeyProps) {
  return (
    <div class="stack" role="status">
      <p>
        The key <a href={`/console/keys/${key.prefix}`}>{key.name}</a>{" "}
        {isOfShown ? "is in what is below." : `is for ${service}, so it is not in what is below.`}{" "}
        <strong>It cannot be shown again.</strong> It expires <Moment at={key.expires} />.
      </p>
      <div class="secret">
        <CopyButton text={secret} what="the key" />
        <code>{secret}</code>
      </div>
      <p class="actions">
        <Button onClick={onHide}>I have copied it: hide the key</Button>
      </p>
    </div>
  );
}
