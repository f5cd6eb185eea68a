/** Keeps an instance of a service registered with each of the authorities, as these come and go. */
import type { Authorities, AuthorityLink } from "../access/follow/authorities.js";
import { ConfigError } from "../config/config.js";
import { type Registration, type RegistrationOptions, register, registrationClosed } from "../rpc/registration.js";

/** The instance, and the authorities. */
export interface Options extends Omit<RegistrationOptions, "channel" | "log"> {
  readonly authorities: Authorities;
}

/** Keeps the instance registered with each until the registration is closed. It is registered where one authority has it. */
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
  // The rejection is for those who call `registered`; without them it is not an error.
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
        // One that is closed, because the authority has gone, says nothing of the others.
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
