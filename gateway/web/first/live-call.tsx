/** A call that works at once: a command to paste, and the same call from the page. */
import { useState } from "preact/hooks";
import { Json } from "../explore/code.js";
import { ApiError, getText } from "../http.js";
import { accessToken } from "../session/session.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import type { Installation } from "./steps.js";

interface LiveCallProps extends Pick<Installation, "live"> {
  readonly onCalled: () => void;
}

interface Outcome {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

const PATH = "/helloworld/call?name=";

export function LiveCall({ live, onCalled }: LiveCallProps) {
  const [name, setName] = useState("Ada");
  const [outcome, setOutcome] = useState<Outcome>();
  const [busy, setBusy] = useState(false);
  if (live === undefined) return <NoLiveCall />;
  const withToken = live === "withToken";
  const send = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    const sent = await sendCall(PATH + encoded(name), withToken);
    setOutcome(sent);
    setBusy(false);
    if (sent.status === 200) onCalled();
  };
  const header = withToken ? ' -H "Authorization: Bearer $PORTICO_TOKEN"' : "";
  return (
    <form class="card live" onSubmit={send} aria-label="A live call">
      <div class="live-request">
        <p class="live-command">
          <code>
            <span class="code-word">curl</span> '{location.origin}
            <wbr />
            {PATH}
          </code>
          <input
            type="text"
            aria-label="Name"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            maxLength={100}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
          <code>'</code>
          {header && <code class="live-header">{header}</code>}
        </p>
        <p class="actions">
          <Button type="submit" kind="primary" busy={busy}>
            Send
          </Button>
          <CopyButton text={`curl '${location.origin}${PATH}${encoded(name)}'${header}`} what="the command" />
        </p>
      </div>
      <div class="live-response" role="status" aria-label="Response">
        {outcome === undefined ? <p class="hint">The response comes here.</p> : <Response {...outcome} />}
      </div>
    </form>
  );
}

/** A name in a query that is quoted in a shell. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll("'", "%27");
}

async function sendCall(path: string, withToken: boolean): Promise<Outcome> {
  const start = performance.now();
  const took = () => Math.max(1, Math.round(performance.now() - start));
  try {
    const text = await getText(path, { token: withToken ? await accessToken() : undefined });
    return { status: 200, ms: took(), text };
  } catch (thrown) {
    const { status, message } = ApiError.from(thrown);
    return { status, ms: took(), text: message };
  }
}

function Response({ status, ms, text }: Outcome) {
  return (
    <>
      <p class="live-status">
        <strong class={status === 200 ? "good" : "bad"}>{status === 0 ? "No response" : status}</strong>
        {status !== 0 && <span> in {ms} ms</span>}
      </p>
      {status === 200 ? (
        <pre>
          <Json text={text} />
        </pre>
      ) : (
        <p>{text}</p>
      )}
    </>
  );
}

function NoLiveCall() {
  return (
    <section class="card stack">
      <p>
        There is no call to try here: <code>helloworld</code> does not run, or you may call it only after signing in.
        The catalogue has a form for each endpoint.
      </p>
    </section>
  );
}
