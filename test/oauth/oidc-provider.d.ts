/** The part of oidc-provider that tests use; it ships no types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Context {
    readonly oidc: { readonly params?: { readonly grant_type?: string } };
  }
  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    on(event: "grant.success" | "grant.error", listener: (context: Context) => void): void;
  }
}
