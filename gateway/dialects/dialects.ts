/** All dialects, and how the one of a request is found: by its method and headers, else by its path. */
import type { Dialects } from "../stages/dialect.js";
import { httpRule } from "./http-rule/http-rule.js";
import { json } from "./json/json.js";
import { Mcp, type McpOptions } from "./mcp/mcp.js";

export function dialectsOf(options: McpOptions): Dialects {
  return { of: () => json, byPath: [json, new Mcp(options), httpRule] };
}
