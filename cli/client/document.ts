/** The parts of an OpenAPI document that client generators read. */

export interface Document {
  readonly info: { readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, DocumentSchema>> };
}

export interface PathItem {
  readonly get?: Operation;
  readonly post?: Operation;
  /** Whether the path comes from a google.api.http annotation. */
  readonly "x-binding"?: boolean;
  readonly "x-websocket"?: { readonly sends: DocumentSchema; readonly receives: DocumentSchema };
}

export interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly "x-idempotency-level"?: string;
  readonly requestBody?: { readonly content: Content };
  readonly responses?: Readonly<Record<string, { readonly content?: Content }>>;
}

export type Content = Readonly<
  Record<string, { readonly schema?: DocumentSchema; readonly "x-item-schema"?: DocumentSchema }>
>;

export interface DocumentSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DocumentSchema[];
  readonly items?: DocumentSchema;
  readonly propertyNames?: DocumentSchema;
  readonly additionalProperties?: DocumentSchema | boolean;
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly "x-explicit-presence"?: boolean;
}

/** The component that a schema refers to, such as `helloworld.CallRequest-input`, or undefined. */
export function referredName({ $ref }: DocumentSchema): string | undefined {
  return $ref?.slice($ref.lastIndexOf("/") + 1);
}
