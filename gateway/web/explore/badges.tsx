/** Badges of an endpoint: who may call it, whether it streams, and whether it is deprecated. */
import { Badge } from "../ui/badge.js";
import type { Endpoint } from "./services.js";

/** Who may call: everyone, or the accounts to which a rule grants it. */
export function CallersBadge({ open }: { readonly open: boolean }) {
  return open ? (
    <Badge tone="good" title="Everyone may call it, with or without a token">
      Open
    </Badge>
  ) : (
    <Badge tone="accent" title="Callers need a token, and a rule that grants it to their account">
      Token
    </Badge>
  );
}

export function EndpointBadges({ endpoint }: { readonly endpoint: Endpoint }) {
  const { open, clientStreaming, serverStreaming } = endpoint;
  const streams = clientStreaming && serverStreaming ? "Two-way stream" : serverStreaming ? "Stream" : "Takes a stream";
  return (
    <span class="endpoint-tags">
      {endpoint.deprecated && <Badge tone="warning">Deprecated</Badge>}
      {(clientStreaming || serverStreaming) && <Badge>{streams}</Badge>}
      <CallersBadge open={open} />
    </span>
  );
}
