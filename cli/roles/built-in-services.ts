/**
 * The table of Portico's built-in services, without the authority and the registry. The code of
 * each is loaded at its first call.
 */
import type { Part } from "../../src/kit/index.js";

/** The services that store what callers give them. A test checks which of them use the store. */
export const KEEPING: ReadonlySet<string> = new Set(["cache", "db", "event", "lists", "notes", "otp", "url", "wallet"]);

/** By name. An entry has all gRPC services of the proto package with this name. */
export const BUILT_IN_SERVICES: Readonly<Record<string, () => Promise<readonly Part[]>>> = {
  cache: async () => (await import("../../services/cache/cache.js")).parts,
  db: async () => (await import("../../services/db/db.js")).parts,
  event: async () => (await import("../../services/event/event.js")).parts,
  helloworld: async () => (await import("../../services/helloworld/helloworld.js")).parts,
  id: async () => (await import("../../services/id/id.js")).parts,
  lists: async () => (await import("../../services/lists/lists.js")).parts,
  notes: async () => (await import("../../services/notes/notes.js")).parts,
  otp: async () => (await import("../../services/otp/otp.js")).parts,
  qr: async () => (await import("../../services/qr/qr.js")).parts,
  url: async () => (await import("../../services/url/url.js")).parts,
  wallet: async () => (await import("../../services/wallet/wallet.js")).parts,
};
