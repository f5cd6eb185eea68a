/** A service in the list, with the endpoints and fields in which words of the search were found. */
import { Badge } from "../ui/badge.js";
import { ArrowIcon } from "../ui/icons.js";
import { CallersBadge } from "./badges.js";
import { type Found, pieces } from "./search.js";
import { pageOf, type Service } from "./services.js";

const MAX_MATCHES = 6;

interface ServiceCardProps {
  readonly found: Found<Service>;
  readonly words: readonly string[];
}

export function ServiceCard({ found: { service, endpoints }, words }: ServiceCardProps) {
  return (
    <li class="entry service">
      <div class="service-head">
        <a class="entry-link" href={pageOf(service.name)}>
          <Marked text={service.name} words={words} />
        </a>
        <ServiceFacts service={service} />
        <ArrowIcon />
      </div>
      <p class="service-summary">
        {service.summary === "" ? "No description." : <Marked text={service.summary} words={words} />}
      </p>
      {endpoints.length > 0 && (
        <ul class="service-matches">
          {endpoints.slice(0, MAX_MATCHES).map((match) => (
            <EndpointMatch key={match.name} service={service} match={match} words={words} />
          ))}
          {endpoints.length > MAX_MATCHES && <li class="soft">and {endpoints.length - MAX_MATCHES} more endpoints</li>}
        </ul>
      )}
    </li>
  );
}

function ServiceFacts({ service: { endpoints } }: { readonly service: Service }) {
  const open = endpoints.filter((endpoint) => endpoint.open).length;
  const all = endpoints.length;
  return (
    <span class="service-facts">
      <span class="soft">
        {all} {all === 1 ? "endpoint" : "endpoints"}
      </span>
      {endpoints.every(({ deprecated }) => deprecated) && <Badge tone="warning">Deprecated</Badge>}
      {open > 0 && <CallersBadge open />}
      {open < all && <CallersBadge open={false} />}
    </span>
  );
}

interface EndpointMatchProps {
  readonly service: Service;
  readonly match: Found<Service>["endpoints"][number];
  readonly words: readonly string[];
}

function EndpointMatch({ service, match: { name, fields }, words }: EndpointMatchProps) {
  return (
    <li>
      <a href={pageOf(service.name, name)}>
        <Marked text={name} words={words} />
      </a>
      {service.endpoints.some((one) => one.name === name && one.deprecated) && (
        <>
          {" "}
          <Badge tone="warning">Deprecated</Badge>
        </>
      )}
      {fields.length > 0 && (
        <span class="soft">
          {" "}
          with{" "}
          {fields.slice(0, MAX_MATCHES).map((field, index) => (
            <>
              {index > 0 && ", "}
              <code key={field}>
                <Marked text={field} words={words} />
              </code>
            </>
          ))}
        </span>
      )}
    </li>
  );
}

/** A text in which the words of the search are marked. */
function Marked({ text, words }: { readonly text: string; readonly words: readonly string[] }) {
  return (
    <>{pieces(text, words).map((piece, index) => (index % 2 === 0 ? piece : <mark key={`${index}`}>{piece}</mark>))}</>
  );
}
