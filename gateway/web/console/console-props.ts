import type { Session } from "../session/session.js";

/** What each page of the console is given. */
export interface ConsoleProps {
  readonly session: Session;
}

export function isAdmin({ scopes }: Session): boolean {
  return scopes.includes("admin");
}
