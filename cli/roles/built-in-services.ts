/** The table of Portico's own services, but for the authority and the registry. The code of each is loaded for its first call. */
import type { Part } from "../../src/kit/index.js";

/** Those that keep what callers give them. A test looks which of them use the store. */
export const KEEPING: ReadonlySet<string> = new Set(["cache", "db", "event", "lists", "notes", "otp", "url", "wallet"]);

/** By name; its gRPC services are those of the proto package of that name. */
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
