/** The dialog that shows a new key once, with a command that calls with it, and tries it. */
import { useState } from "preact/hooks";
import type { CreateKeyResponse, Service } from "../../../src/api/types.js";
import { endpointDocument } from "../explore/document.js";
import { documentOf } from "../explore/services.js";
import { ApiError, post } from "../http.js";
import { listRegistered } from "../session/api.js";
import { isAdmin, type Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { ErrorNotice, Progress } from "../ui/notice.js";
import { SecretDialog } from "./dialogs.js";
import { coveredBy } from "./pattern.js";
import { refusedTo } from "./refused.js";
import { Moment } from "./time.js";

interface CreatedKeyDialogProps {
  readonly created: CreateKeyResponse;
  readonly session: Session;
  readonly onClose: () => void;
}

export function CreatedKeyDialog({ created: { key, secret }, session, onClose }: CreatedKeyDialogProps) {
  const trial = useLoad((signal) => findTrial(key, isAdmin(session), signal), []);
  return (
    <SecretDialog title={`Key ${key.name}`} secret={secret} what="the key" onClose={onClose}>
      <p>
        It calls as {key.account} and expires <Moment at={key.expires} />.
      </p>
      {trial.busy && <Progress label="Looking for an endpoint to try it" />}
      {!trial.busy && trial.value && <TryIt trial={trial.value} secret={secret} />}
      {!trial.busy && trial.isCurrent && !trial.value && (
        <p class="hint">There is no endpoint now that it may call with one request.</p>
      )}
    </SecretDialog>
  );
}

/** A call that the key may make. */
interface Trial {
  /** Such as `/v1/helloworld/Call`. */
  readonly path: string;
  readonly body: unknown;
  /** Whether the page may make the call: it changes nothing. */
  readonly isHarmless: boolean;
}

/** Greets, and changes nothing, although its contract does not say so. */
const HARMLESS = "service:helloworld:Helloworld.Call";
/** How many documents are read for an endpoint that takes JSON. */
const MAX_READ = 5;
const SELF_GOVERNED = /^service:(?:auth|registry):/;

async function findTrial(
  { account, resources }: CreateKeyResponse["key"],
  canAsk: boolean,
  signal: AbortSignal,
): Promise<Trial | undefined> {
  const endpoints = unaryOf(await listRegistered({ signal }));
  const all = endpoints.map(({ resource }) => resource);
  const covered = new Set(resources.length === 0 ? all : resources.flatMap((pattern) => coveredBy(pattern, all)));
  const refused = new Set(canAsk ? await refusedTo(account, [...covered], signal) : []);
  const usable = endpoints.filter(({ resource }) => covered.has(resource) && !refused.has(resource));
  const rank = ({ resource, reads }: (typeof usable)[number]) => (resource === HARMLESS ? 0 : reads ? 1 : 2);
  for (const endpoint of usable.sort((a, b) => rank(a) - rank(b)).slice(0, MAX_READ)) {
    const { resource, path } = endpoint;
    const described = endpointDocument(await documentOf(resource.split(":")[1] ?? ""), path);
    if (described === undefined || described.takesBytes || described.returnsBytes) continue;
    return { path, body: described.example ?? {}, isHarmless: rank(endpoint) < 2 };
  }
  return undefined;
}

function unaryOf(services: readonly Service[]) {
  const endpoints = services.flatMap((service) => service.endpoints);
  return endpoints.filter(
    ({ resource, clientStreaming, serverStreaming }) =>
      !SELF_GOVERNED.test(resource) && !clientStreaming && !serverStreaming,
  );
}

function TryIt({ trial: { path, body, isHarmless }, secret }: { readonly trial: Trial; readonly secret: string }) {
  const json = JSON.stringify(body);
  const command = [
    `curl ${location.origin}${path}`,
    `-H 'Authorization: Bearer ${secret}'`,
    "-H 'Content-Type: application/json'",
    `-d '${json.replaceAll("'", "'\\''")}'`,
  ].join(" \\\n  ");
  return (
    <>
      <p>To try it:</p>
      <div class="secret">
        <CopyButton text={command} what="the command" />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
        <pre tabIndex={0}>{command}</pre>
      </div>
      {isHarmless ? (
        <TestNow {...{ path, body, secret }} />
      ) : (
        <p class="hint">The page does not make this call itself, because it may change something.</p>
      )}
    </>
  );
}

interface Tested {
  readonly ms: number;
  readonly response?: string;
  readonly error?: ApiError;
}

const MAX_SHOWN = 200;

function TestNow({ path, body, secret }: Pick<Trial, "path" | "body"> & { readonly secret: string }) {
  const [tested, setTested] = useState<Tested>();
  const [busy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    const start = performance.now();
    const took = () => Math.round(performance.now() - start);
    try {
      const response = JSON.stringify(await post(path, body, { token: secret }));
      setTested({ ms: took(), response });
    } catch (thrown) {
      setTested({ ms: took(), error: ApiError.from(thrown) });
    }
    setBusy(false);
  };
  return (
    <div class="stack">
      <p class="actions">
        <Button small busy={busy} onClick={test}>
          Test now
        </Button>
      </p>
      <div role="status">
        {tested?.response !== undefined && (
          <div class="notice">
            <p>
              <strong>200</strong> in {tested.ms} ms: <code>{shortened(tested.response)}</code>
            </p>
          </div>
        )}
      </div>
      {tested?.error && <ErrorNotice error={tested.error} />}
    </div>
  );
}

function shortened(response: string): string {
  return response.length > MAX_SHOWN ? `${response.slice(0, MAX_SHOWN)} …` : response;
}
