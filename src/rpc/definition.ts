/** Definitions of gRPC services, as ts-proto generates them (`outputServices=grpc-js`). */

/** The part of a method definition that a server needs. */
export interface ServedMethodDefinition<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (value: Response) => Buffer;
}

/** A method definition with the parts that a server and a client need. */
export interface MethodDefinition<Request, Response> extends ServedMethodDefinition<Request, Response> {
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

/** The methods of a gRPC service that this process serves. */
// biome-ignore lint/suspicious/noExplicitAny: this type covers the definitions of all messages.
export type ServiceDefinition = Readonly<Record<string, ServedMethodDefinition<any, any>>>;

/** The methods of a gRPC service that this process calls. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type ClientDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;
