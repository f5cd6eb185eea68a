import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Fault } from "./call-progress.js";

interface RefusedField {
  /** As the gateway writes it: `items[0].count`, its beginning replaced by `…` where it is long. */
  readonly path: string;
  readonly reason: string;
}

/** The field for which the request, as it is now, was refused. */
export const Refused = createContext<RefusedField | undefined>(undefined);

const DETAIL = /^((?:[\w$@.…]|\[\d+\]|\["[^"]*"\])+): (.+)$/s;

export function refusedField(fault: Fault | undefined): RefusedField | undefined {
  const [, path, reason] = (fault?.status === 400 && DETAIL.exec(fault.detail)) || [];
  return path === undefined || reason === undefined ? undefined : { path, reason };
}

/** Why the field at a path was refused. */
export function useRefusal(path: string): string | undefined {
  const refused = useContext(Refused);
  if (refused === undefined) return undefined;
  const isIt = refused.path.startsWith("…") ? path.endsWith(refused.path.slice(1)) : path === refused.path;
  return isIt ? refused.reason : undefined;
}

/** The path of a member. */
export function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_$@][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
