/**
 * Shows beside a field of the form why the gateway refused it: the Detail of a 400 begins with the path of the field.
 */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Failure } from "./calls.js";

interface RefusedField {
  /** As the gateway writes it, such as `items[0].count`; the beginning of a long path is replaced by `…`. */
  readonly path: string;
  readonly reason: string;
}

/** The field for which the request was refused, as long as the request is unchanged. */
export const Refused = createContext<RefusedField | undefined>(undefined);

const DETAIL = /^((?:[\w$@.…]|\[\d+\]|\["[^"]*"\])+): (.+)$/s;

export function refusedField(failure: Failure | undefined): RefusedField | undefined {
  const [, path, reason] = (failure?.status === 400 && DETAIL.exec(failure.detail)) || [];
  return path === undefined || reason === undefined ? undefined : { path, reason };
}

/** Why the field at a path was refused. */
export function useRefusal(path: string): string | undefined {
  const refused = useContext(Refused);
  if (refused === undefined) return undefined;
  const isRefused = refused.path.startsWith("…") ? path.endsWith(refused.path.slice(1)) : path === refused.path;
  return isRefused ? refused.reason : undefined;
}

/** The path of a field, or of an entry of a map, in the message at `path`. */
export function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_$@][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
