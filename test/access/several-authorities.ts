/** A guard with several scripted authorities. */
import type { Test } from "tap";
import { Authorities } from "../../src/access/follow/authorities.js";
import { OpenGuard } from "../../src/access/guard.js";
import { silent } from "../services/auth/open.js";
import { ScriptedAuthority } from "./scripted-authority.js";

/** Long enough that a guard can change the authority on a busy computer. */
export const LEASE = 4_000;

export interface Scene {
  readonly guard: OpenGuard;
  /** In the order of the guard. */
  readonly scripts: readonly ScriptedAuthority[];
  /** How often the guard was found without a lease. */
  readonly lost: () => number;
}

/** A guard with several authorities, which follows the first of them. */
export async function scene(t: Test, count: number, options: Partial<ScriptedAuthority> = {}): Promise<Scene> {
  const made = Array.from({ length: count }, (_, index) => {
    const script = Object.assign(new ScriptedAuthority(), { leaseMs: LEASE, ...options });
    return { name: `authority ${index}`, channel: script.access.channel, log: silent, script };
  });
  const authorities = new Authorities(made);
  const scripts = authorities.all.map((one) => (one as (typeof made)[number]).script);
  const { channel } = authorities;
  const { admission } = scripts[0]!.access;
  const guard = new OpenGuard({ channel, authorities, admission, log: silent });
  t.teardown(() => guard.close());
  await guard.ready();
  let lost = 0;
  const watching = setInterval(() => {
    if (guard.state !== "ready") lost++;
  }, 1);
  t.teardown(() => clearInterval(watching));
  return { guard, scripts, lost: () => lost };
}

/** Resolves when the guard decides by what this authority has sent. */
export async function follows(script: ScriptedAuthority): Promise<void> {
  await script.until(() => (script.streams.at(-1)?.applied.length ?? 0) > 0);
}
