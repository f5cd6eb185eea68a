/** Definitions of gRPC services, as ts-proto generates them (`outputServices=grpc-js`). */

/** One method of a ts-proto definition (`outputServices=grpc-js`). */
export interface MethodDefinition<Request, Response> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (value: Response) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

// biome-ignore lint/suspicious/noExplicitAny: the one place where definitions of all messages meet.
export type ServiceDefinition = Readonly<Record<string, MethodDefinition<any, any>>>;
