/** The parts of an OpenAPI document that client generators read. */

export interface Document {
  readonly info: { readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface PathItem {
  readonly get?: Operation;
  readonly post?: Operation;
  /** Whether the path is one of a google.api.http annotation. */
  readonly "x-binding"?: boolean;
  readonly "x-websocket"?: { readonly sends: Schema; readonly receives: Schema };
}

export interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly "x-idempotency-level"?: string;
  readonly requestBody?: { readonly content: Content };
  readonly responses?: { readonly 200?: { readonly content?: Content } };
}

type Content = Readonly<Record<string, { readonly schema?: Schema; readonly "x-item-schema"?: Schema }>>;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly "x-explicit-presence"?: boolean;
}

/** The component that a schema refers to: `helloworld.CallRequest-input`; undefined where it refers to none. */
export function referredName({ $ref }: Schema): string | undefined {
  return $ref?.slice($ref.lastIndexOf("/") + 1);
}
