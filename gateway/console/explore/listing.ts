/** What the registry answers (proto/portico/registry/v1/registry.proto), as its JSON has it. */

export interface ServiceListing {
  readonly services: readonly Service[];
}

export interface Service {
  readonly name: string;
  readonly summary: string;
  readonly endpoints: readonly Endpoint[];
  readonly instances: number;
}

export interface Endpoint {
  /** `service:helloworld:Helloworld.Call` */
  readonly resource: string;
  /** `/v1/helloworld/Call` */
  readonly path: string;
  readonly summary: string;
  readonly clientStreaming: boolean;
  readonly serverStreaming: boolean;
}
