/** The services that come with Portico. Any other service was added. */
export const BUILT_IN: ReadonlySet<string> = new Set([
  ...["auth", "cache", "db", "event", "helloworld", "id", "lists", "notes", "otp", "qr", "registry", "url", "wallet"],
]);
