/**
 * The page of one service: its overview or one of its endpoints, and beside it a list of all its
 * endpoints.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { readText } from "../session/api.js";
import { useSession } from "../session/session.js";
import { askToSignIn } from "../session/sign-in.js";
import { useLoad } from "../state/load.js";
import { useEntry, useTitle } from "../state/router.js";
import { Button } from "../ui/button.js";
import { DownloadIcon } from "../ui/icons.js";
import { EmptyState, ErrorNotice, Progress } from "../ui/notice.js";
import { saveFile } from "../ui/save-file.js";
import { announce } from "../ui/status.js";
import { EndpointBadges } from "./badges.js";
import { endpointDocument, type OpenApi } from "./document.js";
import { EndpointPage } from "./endpoint-page.js";
import { firstSentence } from "./first-sentence.js";
import { Inline, loadMarkdown, Prose } from "./prose.js";
import { documentOf, documentPath, type Endpoint, endpointAt, pageOf, type Service } from "./services.js";
import { SnippetTabs } from "./snippet-tabs.js";

interface ServicePageProps {
  readonly services: readonly Service[];
  readonly name: string;
  readonly endpointName: string | undefined;
}

export function ServicePage({ services, name, endpointName }: ServicePageProps) {
  const session = useSession();
  const signOuts = useSignOutCount(session?.account);
  const service = services.find((one) => one.name === name.toLowerCase());
  const endpoint = service && endpointName !== undefined ? endpointAt(service, endpointName) : undefined;
  const entry = useEntry();
  // At the same time as the document, so that comments do not change after they were drawn.
  useEffect(() => void loadMarkdown(), []);
  useTitle(endpoint === undefined ? name : `${endpoint.name} · ${name}`);
  const { value, error, reload } = useLoad(() => documentOf(name.toLowerCase()), [name, session]);
  if (service === undefined) return <Missing what={`service ${name}`} back="/explore" title="All services" />;
  if (endpoint === undefined && endpointName !== undefined) {
    return <Missing what={`endpoint ${endpointName}`} back={pageOf(service.name)} title={service.name} />;
  }
  return (
    <section class="service-page">
      <Sidebar service={service} current={endpoint} />
      <div class="service-content">
        {error && (
          <ErrorNotice error={error} onRetry={reload}>
            <p>So fields and examples are missing here. You can still try calls.</p>
          </ErrorNotice>
        )}
        {value === undefined && error === undefined ? (
          // Reserves the place of the content. Otherwise the page would move when the document
          // arrives, maybe during a click.
          <Progress label="Loading the fields" />
        ) : endpoint === undefined ? (
          <Overview service={service} document={value} />
        ) : (
          <EndpointPage
            key={`${endpoint.path} ${signOuts} ${entry}`}
            service={service.name}
            endpoint={endpoint}
            document={value}
          />
        )}
      </div>
    </section>
  );
}

/**
 * Counts how often an account signed out. The count is part of the page's `key`, so a sign-out
 * draws a new page: no visitor sees what another account typed and received. Signing in keeps the
 * content of the page.
 */
function useSignOutCount(account: string | undefined): number {
  const last = useRef({ account, count: 0 });
  const { account: before, count } = last.current;
  if (account !== before) last.current = { account, count: before === undefined ? count : count + 1 };
  return last.current.count;
}

function Sidebar({ service, current }: { readonly service: Service; readonly current: Endpoint | undefined }) {
  const groups = [...grouped(service)];
  const nav = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (nav.current) scrollToCurrent(nav.current);
  }, [current?.name]);
  return (
    <nav ref={nav} class="sidebar" aria-label={`Endpoints of ${service.name}`}>
      <a class="sidebar-back" href="/explore">
        All services
      </a>
      <a class="sidebar-title" href={pageOf(service.name)} aria-current={current === undefined ? "page" : undefined}>
        {service.name}
      </a>
      {groups.map(([group, endpoints]) => (
        <div key={group} class="sidebar-group">
          {groups.length > 1 && <p class="sidebar-heading">{group}</p>}
          <ul aria-label={group}>
            {endpoints.map((endpoint) => (
              <li key={endpoint.name}>
                <a
                  href={pageOf(service.name, endpoint.name)}
                  aria-current={endpoint.name === current?.name ? "page" : undefined}
                  class={endpoint.deprecated ? "deprecated" : undefined}
                >
                  {endpoint.name.slice(endpoint.name.lastIndexOf(".") + 1)}
                  {endpoint.deprecated && <span class="hidden"> (deprecated)</span>}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

/** Scrolls only the list, and only if the current endpoint is out of sight. */
function scrollToCurrent(nav: HTMLElement): void {
  const link = nav.querySelector("[aria-current]");
  if (link === null) return;
  const [inside, outside] = [link.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (inside.top >= outside.top && inside.bottom <= outside.bottom) return;
  nav.scrollTop += inside.top - outside.top - (outside.height - inside.height) / 2;
}

function grouped({ endpoints }: Service): Map<string, Endpoint[]> {
  const groups = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const group = endpoint.name.slice(0, endpoint.name.lastIndexOf("."));
    groups.set(group, [...(groups.get(group) ?? []), endpoint]);
  }
  return groups;
}

function Overview({ service, document }: { readonly service: Service; readonly document: OpenApi | undefined }) {
  const { name, summary, instances, endpoints } = service;
  const first = firstToCall(endpoints, document);
  return (
    <article class="page">
      <header class="page-head">
        <h1 class="mono">{name}</h1>
        <Prose text={document?.info.description ?? summary} />
        <p class="actions">
          <DownloadButton service={name} />
          <span class="soft">
            {instances} {instances === 1 ? "instance runs" : "instances run"}
          </span>
        </p>
      </header>
      <section class="stack">
        <h2>Endpoints</h2>
        <ul class="entries">
          {endpoints.map((endpoint) => (
            <li key={endpoint.name} class="entry">
              <div class="endpoint-head">
                <a
                  class={endpoint.deprecated ? "entry-link deprecated" : "entry-link"}
                  href={pageOf(name, endpoint.name)}
                >
                  {endpoint.name}
                </a>
                <EndpointBadges endpoint={endpoint} />
              </div>
              {endpoint.summary !== "" && (
                <p class="soft">
                  <Inline text={firstSentence(endpoint.summary)} />
                </p>
              )}
            </li>
          ))}
        </ul>
      </section>
      {first && <FirstCall endpoint={first} document={document} />}
    </article>
  );
}

/** The first endpoint to try: one that is neither destructive nor deprecated. */
function firstToCall(endpoints: readonly Endpoint[], document: OpenApi | undefined): Endpoint | undefined {
  return endpoints.find(({ clientStreaming, deprecated, path }) => {
    const described = document && endpointDocument(document, path);
    return !clientStreaming && !deprecated && described?.destructive === false;
  });
}

function FirstCall({ endpoint, document }: { readonly endpoint: Endpoint; readonly document: OpenApi | undefined }) {
  const described = document && endpointDocument(document, endpoint.path);
  const call = { text: JSON.stringify(described?.example ?? {}), namespace: "" };
  return <SnippetTabs endpoint={endpoint} call={call} withToken={!endpoint.open} described={described} />;
}

/**
 * A button and not a link: a link sends no token, and the document shows only what the caller may
 * call.
 */
function DownloadButton({ service }: { readonly service: string }) {
  const [busy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    try {
      const text = await readText(documentPath(service));
      saveFile(`${service}.json`, new Blob([text], { type: "application/json" }));
    } catch (thrown) {
      announce(`Not downloaded. ${(thrown as Error).message}`, "bad");
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button small busy={busy} onClick={download}>
      <DownloadIcon /> OpenAPI document
    </Button>
  );
}

function Missing({ what, back, title }: { readonly what: string; readonly back: string; readonly title: string }) {
  const session = useSession();
  return (
    <EmptyState title={`There is no ${what} that you may call`}>
      <p>
        {session === undefined
          ? "You may have to sign in to see it, or its name may be different."
          : "It may not be running, its name may be different, or no rule grants it to your account."}
      </p>
      <p class="actions">
        {session === undefined && (
          <Button kind="primary" onClick={askToSignIn}>
            Sign in
          </Button>
        )}
        <a class="button" href={back}>
          {title}
        </a>
      </p>
    </EmptyState>
  );
}
