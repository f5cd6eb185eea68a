import { Badge } from "../ui/badge.js";

/** Who may call: everyone, or those with a token that the rules grant it to. */
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
