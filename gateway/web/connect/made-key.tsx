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

interface MadeKeyProps {
  readonly service: string;
  readonly session: Session | undefined;
  /** Undefined when the key is no longer shown. */
  readonly onKey: (secret: string | undefined) => void;
}

export function MadeKey({ service, session, onKey }: MadeKeyProps) {
  const [made, setMade] = useState<CreateKeyResponse>();
  const { busy, error, submit } = useSubmit(async () => {
    const resources = [`service:${service}:*`];
    const created = await call("auth/Keys/Create", { name: `connect ${service}`, lifetime: LIFETIME, resources });
    setMade(created);
    onKey(created.secret);
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
    return <ShownKey {...made} onHide={hide} />;
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

function ShownKey({ key, secret, onHide }: CreateKeyResponse & { readonly onHide: () => void }) {
  return (
    <div class="stack" role="status">
      <p>
        The key <a href={`/console/keys/${key.prefix}`}>{key.name}</a> is in what is below.{" "}
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
