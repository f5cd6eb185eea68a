/**
 * All dialects, and how the dialect of a request is found. The content type selects gRPC, gRPC-Web
 * and Connect. The header Connect-Protocol-Version or the query of a GET can also select Connect.
 * The path selects all other dialects.
 *
 * A dialect knows no socket.
 */
import type { GatewayRequestHead } from "../http/message.js";
import { pathOf } from "../http/target.js";
import type { Dialect, Dialects } from "../stages/dialect.js";
import { connectStream } from "./connect/stream.js";
import { ConnectUnary, codecOfQuery } from "./connect/unary.js";
import { grpc } from "./grpc/grpc.js";
import { grpcWeb } from "./grpc-web/grpc-web.js";
import { httpRule } from "./http-rule/http-rule.js";
import { json } from "./json/json.js";
import { PATH as MCP_PATH, Mcp, type McpOptions } from "./mcp/mcp.js";
import { JSON_CODEC, PROTO } from "./rpc/codec.js";
import { Enveloped } from "./rpc/enveloped.js";

export function dialectsOf(options: McpOptions): Dialects {
  const maxMessage = options.config.maxBody;
  const connectProto = new ConnectUnary(PROTO, maxMessage);
  const connectJson = new ConnectUnary(JSON_CODEC, maxMessage);
  const byContentType = new Map<string, Dialect>([["application/proto", connectProto]]);
  for (const protocol of [grpc, grpcWeb, connectStream]) {
    for (const codec of [PROTO, JSON_CODEC]) {
      for (const isText of protocol === grpcWeb ? [false, true] : [false]) {
        const dialect = new Enveloped({ protocol, codec, isText, maxMessage });
        byContentType.set(dialect.contentType, dialect);
        // Without a suffix such as `+json`, the codec is protobuf.
        if (codec === PROTO && protocol !== connectStream) {
          byContentType.set(dialect.contentType.replace("+proto", ""), dialect);
        }
      }
    }
  }

  const of = ({ method, target, headers, upgrade }: GatewayRequestHead): Dialect => {
    const { contentType, connectVersion } = headers;
    if (contentType === undefined) {
      const codec = method === "GET" && target.includes("connect=v1") ? codecOfQuery(target) : undefined;
      return codec === undefined ? json : codec === PROTO ? connectProto : connectJson;
    }
    if (contentType === "application/json" && connectVersion === undefined) return json;
    if (upgrade) return json;
    const [type = ""] = contentType.toLowerCase().split(";");
    if (type.trim() === "application/json") return connectVersion === undefined ? json : connectJson;
    return byContentType.get(type.trim()) ?? json;
  };
  const mcp = new Mcp(options);
  const ofRefused = (request: GatewayRequestHead): Dialect => {
    const dialect = of(request);
    return dialect === json && pathOf(request.target) === MCP_PATH ? mcp : dialect;
  };
  return { of, ofRefused, byPath: [json, mcp, httpRule(maxMessage)] };
}
