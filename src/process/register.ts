/**
 * Keeps an instance of a service registered with all authorities, also when the list of authorities
 * changes.
 */
import type { Authorities, AuthorityLink } from "../access/follow/authorities.js";
import { ConfigError } from "../config/setting.js";
import { type Registration, type RegistrationOptions, register, registrationClosed } from "../rpc/registration.js";

/** The instance, and the authorities. */
export interface Options extends Omit<RegistrationOptions, "channel" | "log"> {
  readonly authorities: Authorities;
}

/**
 * Keeps the instance registered with each authority until the registration is closed. `registered`
 * resolves as soon as one authority has the instance.
 */
export function registerWithEach({ authorities, ...options }: Options): Registration {
  const held = new Map<AuthorityLink, Registration>();
  const isClosed = new AbortController();
  let onRegistered: () => void = () => {};
  let onRefused: (error: unknown) => void = () => {};
  const registered = new Promise<void>((resolve, reject) => {
    onRegistered = resolve;
    onRefused = reject;
    isClosed.signal.addEventListener("abort", () => reject(registrationClosed()));
  });
  // The rejection is for callers of `registered`; without one it is not an error.
  registered.catch(() => {});
  const update = (): void => {
    for (const [authority, registration] of held) {
      if (authorities.all.includes(authority)) continue;
      held.delete(authority);
      registration.close();
    }
    for (const authority of authorities.all) {
      if (held.has(authority)) continue;
      const { channel, log } = authority;
      const registration = register({ ...options, channel, log });
      held.set(authority, registration);
      registration.registered().then(onRegistered, (error) => {
        // A registration that was closed because its authority has gone does not mean that the
        // others fail.
        if (error instanceof ConfigError) onRefused(error);
      });
    }
  };
  const stopListening = authorities.onChange(update);
  update();
  return {
    registered: () => registered,
    close() {
      stopListening();
      isClosed.abort();
      for (const registration of held.values()) registration.close();
    },
  };
}
