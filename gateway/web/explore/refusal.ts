/** The fields for which a request was refused: found in an error, marked in the form. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Failure } from "./calls.js";
import { lowerCamelCase } from "./secrets.js";

export interface RefusedField {
  /**
   * In the gateway's format, such as `items[0].count`. The beginning of a long path is replaced by
   * `…`.
   */
  readonly path: string;
  readonly reason: string;
}

/** The fields for which the request was refused, as long as the request is unchanged. */
export const Refused = createContext<readonly RefusedField[]>([]);

/** The field that the visitor wants to see. Each wish is another object. */
export const Revealed = createContext<{ readonly path: string } | undefined>(undefined);

const DETAIL = /^((?:[\w$@.…]|\[\d+\]|\["[^"]*"\])+): (.+)$/s;

/** From a google.rpc.BadRequest of the service, or else from the Detail. */
export function refusedFields(failure: Failure | undefined): readonly RefusedField[] {
  if (failure?.status !== 400) return [];
  const violations = (failure.details ?? []).flatMap(violationsOf);
  if (violations.length > 0) return violations;
  const [, path, reason] = DETAIL.exec(failure.detail) ?? [];
  return path === undefined || reason === undefined ? [] : [{ path, reason }];
}

function violationsOf(detail: unknown): RefusedField[] {
  const { "@type": type, fieldViolations }: { "@type"?: unknown; fieldViolations?: unknown } = Object(detail);
  if (typeof type !== "string" || !type.endsWith("/google.rpc.BadRequest") || !Array.isArray(fieldViolations))
    return [];
  return fieldViolations.flatMap((one) => {
    const { field, description }: { field?: unknown; description?: unknown } = Object(one);
    if (typeof field !== "string" || field === "") return [];
    return [
      { path: field, reason: typeof description === "string" && description !== "" ? description : "is refused" },
    ];
  });
}

/** Why the field at a path was refused. */
export function useRefusal(path: string): string | undefined {
  return useContext(Refused).find((one) => isAt(one.path, path))?.reason;
}

/** Whether the visitor wants to see the field at a path, or a field inside it. */
export function useRevealed(): (path: string) => boolean {
  const revealed = useContext(Revealed);
  return (path) => revealed !== undefined && isInside(revealed.path, path);
}

function isAt(refused: string, path: string): boolean {
  if (refused.startsWith("…")) return lowerCamelCase(path).endsWith(lowerCamelCase(refused.slice(1)));
  return lowerCamelCase(path) === lowerCamelCase(refused);
}

function isInside(inner: string, path: string): boolean {
  const [one, outer] = [lowerCamelCase(inner), lowerCamelCase(path)];
  return one === outer || one.startsWith(`${outer}.`) || one.startsWith(`${outer}[`);
}

/**
 * Moves the focus to the control of a field. If the form has none, because an outer message has not
 * been added, to the control of that message; or else to the first control that is marked.
 */
export function focusField(form: HTMLElement, path: string): void {
  const places = [...form.querySelectorAll<HTMLElement>("[data-path]")];
  const of = ({ dataset }: HTMLElement) => dataset.path ?? "";
  const outer = places.filter((place) => isInside(path, of(place))).sort((a, b) => of(b).length - of(a).length);
  const place = places.find((one) => isAt(path, of(one))) ?? outer[0];
  const controls = "input, select, textarea, button";
  const control = place?.querySelector<HTMLElement>(controls) ?? form.querySelector<HTMLElement>("[aria-invalid]");
  const target = control ?? form.querySelector<HTMLElement>("textarea");
  target?.focus();
  target?.scrollIntoView({ block: "center" });
}
