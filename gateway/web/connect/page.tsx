/** What to paste into each kind of client, with this address and a key made for it. */
import { useState } from "preact/hooks";
import { Code } from "../explore/code.js";
import { endpointDocument } from "../explore/document.js";
import { documentOf, isOwn, listServices, type Service } from "../explore/services.js";
import { type Session, useSession } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { useTitle } from "../state/router.js";
import { CopyButton } from "../ui/copy-button.js";
import { SelectField } from "../ui/field.js";
import { EmptyState, ErrorNotice, Progress } from "../ui/notice.js";
import { Tabs } from "../ui/tabs.js";
import { type Block, CLIENTS, type Target } from "./blocks.js";
import { type KeyOf, MadeKey } from "./made-key.js";

export default function ConnectPage() {
  useTitle("Connect");
  const session = useSession();
  const { value, error, reload } = useLoad((signal) => listServices(session !== undefined, signal), [session]);
  return (
    <div class="page connect">
      <header class="stack">
        <h1>Connect</h1>
        <p class="lead">What to paste into a terminal, a program or an agent, with this address in it.</p>
      </header>
      {error && <ErrorNotice error={error} onRetry={reload} />}
      {!error && value === undefined && <Progress label="Loading the services" />}
      {value !== undefined && <Connect key={sessionKey(session)} services={value} session={session} />}
    </div>
  );
}

function sessionKey(session: Session | undefined): string {
  return session === undefined ? "" : `${session.namespace} ${session.account}`;
}

/** The service that is shown first, because a call of it changes nothing. */
const FIRST = "helloworld";

function Connect({
  services,
  session,
}: {
  readonly services: readonly Service[];
  readonly session: Session | undefined;
}) {
  const usable = services.filter((service) => !isOwn(service) && service.endpoints.length > 0);
  const names = usable.map(({ name }) => name);
  const [chosen, setChosen] = useState(FIRST);
  const name = names.includes(chosen) ? chosen : names[0];
  const service = usable.find((one) => one.name === name);
  const {
    value: call,
    isCurrent,
    error,
    reload,
  } = useLoad(async () => (service === undefined ? undefined : findCall(service)), [service]);
  const [key, setKey] = useState<KeyOf>();
  if (service === undefined) return <NothingToCall session={session} />;
  const target: Target | undefined =
    isCurrent && call
      ? {
          ...call,
          origin: location.origin,
          service: service.name,
          key: key?.service === service.name ? key.secret : undefined,
        }
      : undefined;
  return (
    <>
      <section class="card connect-for">
        <SelectField
          label="Service"
          options={names.map((name) => [name, name] as const)}
          value={service.name}
          onInput={setChosen}
        />
        <MadeKey service={service.name} session={session} onKey={setKey} />
      </section>
      {error && <ErrorNotice error={error} onRetry={reload} />}
      {!error && !isCurrent && <Progress label="Loading the contract" />}
      {isCurrent && call === undefined && <OnlyOtherShapes name={service.name} />}
      {target && <Blocks target={target} />}
    </>
  );
}

/** How many endpoints of a service are looked at. */
const MAX_TRIED = 50;

/** An endpoint with one JSON request and one JSON response; first those that only read. */
async function findCall({ name, endpoints }: Service): Promise<Pick<Target, "call" | "open"> | undefined> {
  const document = await documentOf(name);
  const rank = ({ name, reads, deprecated }: (typeof endpoints)[number]) =>
    (name === "Helloworld.Call" || reads ? 0 : 1) + (deprecated ? 2 : 0);
  const unary = endpoints.filter(({ clientStreaming, serverStreaming }) => !clientStreaming && !serverStreaming);
  for (const { path, open } of unary.sort((a, b) => rank(a) - rank(b)).slice(0, MAX_TRIED)) {
    const described = endpointDocument(document, path);
    if (described === undefined || described.takesBytes || described.returnsBytes || described.destructive) continue;
    return { call: { path, body: described.example ?? {}, grpcPath: described.grpcPath }, open };
  }
  return undefined;
}

/** The chosen client. It stays the same for the next visit of the page. */
let lastChoice = CLIENTS[0]!.id;

function Blocks({ target }: { readonly target: Target }) {
  const [chosen, setChosen] = useState(lastChoice);
  const select = (id: string) => {
    lastChoice = id;
    setChosen(id);
  };
  const client = CLIENTS.find(({ id }) => id === chosen)!;
  return (
    <section class="card">
      <Tabs label="Client" tabs={CLIENTS} selected={chosen} onSelect={select}>
        <div class="stack">
          {client.blocks(target).map((block) => (
            <BlockView key={block.title} {...block} />
          ))}
        </div>
      </Tabs>
    </section>
  );
}

function BlockView({ title, comment, code }: Block) {
  return (
    <section class="block">
      <header class="panel-head">
        <h2>{title}</h2>
        <CopyButton text={code} what={title} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus. */}
      <pre class="code-block" tabIndex={0}>
        <Code text={code} comment={comment} />
      </pre>
    </section>
  );
}

function OnlyOtherShapes({ name }: { readonly name: string }) {
  return (
    <EmptyState title={`${name} has no endpoint with one JSON request and response`}>
      <p>
        The pages of <a href={`/explore/${encodeURIComponent(name)}`}>its endpoints</a> have the code for streams and
        bytes.
      </p>
    </EmptyState>
  );
}

function NothingToCall({ session }: { readonly session: Session | undefined }) {
  return (
    <EmptyState title="There is nothing that you may call">
      <p>
        {session === undefined
          ? "Sign in to see what your account may call."
          : "No rule grants your account anything, or no service is registered."}
      </p>
    </EmptyState>
  );
}
