/** What needs attention in the installation. Each line leads to where it is mended. */
import type { ComponentChildren } from "preact";
import type { Key } from "../../../src/api/types.js";
import { listRegistered, read } from "../session/api.js";
import type { Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { list } from "./authority.js";
import { Loaded } from "./page-frame.js";
import { daysUntil, fromNow } from "./time.js";

/** A key that expires within this many days needs attention. */
const SOON_DAYS = 7;
/** Maximum lines. More are counted. */
const MAX_LINES = 20;

interface Line {
  readonly id: string;
  /** Undefined for what is mended outside of the console. */
  readonly href?: string;
  /** What it is about. */
  readonly name: string;
  readonly text: ComponentChildren;
}

export function Attention({ session, keys }: { readonly session: Session; readonly keys: readonly Key[] }) {
  const isOfDefault = session.namespace === "default";
  const loading = useLoad(
    async (signal) => (isOfDefault ? [...(await serviceLines(signal)), ...keyLines(keys)] : keyLines(keys)),
    [keys, isOfDefault],
  );
  return (
    <section class="card stack" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <Loaded loading={loading} what="what needs attention">
        {(lines) =>
          lines.length === 0 ? (
            <p class="hint">Nothing.</p>
          ) : (
            <ul class="attention">
              {lines.slice(0, MAX_LINES).map(({ id, href, name, text }) => (
                <li key={id}>
                  {href === undefined ? <strong>{name}</strong> : <a href={href}>{name}</a>} {text}
                </li>
              ))}
              {lines.length > MAX_LINES && <li>and {lines.length - MAX_LINES} more</li>}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** Only administrators of `default` may ask for these. */
async function serviceLines(signal: AbortSignal): Promise<Line[]> {
  const [{ services, rejected }, { enrolments }, registered, { endpoints }, { problems }] = await Promise.all([
    list.services(signal),
    list.enrolments(signal),
    listRegistered({ signal }),
    list.usage({ span: "604800s" }, signal),
    read<{ readonly problems: readonly Pick<Line, "name" | "text">[] }>("/console/attention.json"),
  ]);
  const href = "/console/services";
  const running = new Set(registered.filter(({ instances }) => instances > 0).map(({ name }) => name));
  const configured = new Set(services.map(({ service }) => service.name));
  const enrolled = new Set(enrolments.map(({ name }) => name));
  // Most installations have enrolments for services that they never start.
  const called = [...new Set(endpoints.map(({ service }) => service))];
  return [
    ...problems.map((problem) => ({ id: `problem ${problem.name} ${problem.text}`, ...problem })),
    ...rejected.map(({ service, id, error, time }) => ({
      ...{ id: `rejected ${service} ${id}`, href, name: service },
      text: `: the instance ${id} was rejected ${fromNow(new Date(time))}: ${error}`,
    })),
    ...services
      .filter(({ error }) => error !== "")
      .map(({ service: { name }, error }) => ({ id: `error ${name}`, href, name, text: `: ${error}` })),
    ...services
      .filter(({ error, reachable }) => error === "" && reachable === 0)
      .map(({ service: { name } }) => ({
        id: `down ${name}`,
        href,
        name,
        text: "has no instance that can be reached",
      })),
    ...called
      .filter((name) => enrolled.has(name) && !running.has(name) && !configured.has(name))
      .map((name) => ({ id: `away ${name}`, href, name, text: "was called in the last 7 days, and has no instance" })),
  ];
}

function keyLines(keys: readonly Key[]): Line[] {
  return keys
    .filter(({ expires }) => daysUntil(expires) <= SOON_DAYS && daysUntil(expires) > 0)
    .map(({ prefix, name, account, expires }) => ({
      id: prefix,
      href: `/console/keys/${prefix}`,
      name: `The key ${name}`,
      text: `of ${account} expires ${fromNow(new Date(expires))}`,
    }));
}
