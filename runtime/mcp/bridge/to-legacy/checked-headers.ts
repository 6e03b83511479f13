import type { BackendCall } from '#runtime/mcp/backends/backend';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { headerArguments, mismatchedHeader, type HeaderArgument } from '../tool-headers.ts';
import { objectAt, type ModernMessage } from './modern-message.ts';
import type { ModernAnswer } from './to-modern-answer.ts';

const HEADER_MISMATCH = -32020;
const MAX_TOOLS = 10_000;

/**
 * Checks that the Mcp-Param headers of a call repeat its arguments, as a server of 2026-07-28 does (MCP 2026-07-28, "Custom headers from
 * tool parameters"). A legacy backend does not check them. Tools are known once they are listed.
 */
export class CheckedHeaders {
  readonly #declared = new Map<string, readonly HeaderArgument[]>();

  /** `body`: answer of the backend to tools/list. */
  learn(body: Buffer): void {
    const { result } = JSON.parse(body.toString('utf8')) as JsonObject;
    const tools: unknown[] = isJsonObject(result) && Array.isArray(result.tools) ? result.tools : [];
    for (const tool of tools) {
      if (!isJsonObject(tool) || typeof tool.name !== 'string') continue;
      const declared = headerArguments(tool.inputSchema);
      if (declared.length === 0) this.#declared.delete(tool.name);
      else if (this.#declared.size < MAX_TOOLS) this.#declared.set(tool.name, declared);
    }
  }

  /** Returns the refusal of a call whose headers differ from its arguments. */
  refusal({ method, headers, idText }: BackendCall, { body, spans }: ModernMessage): ModernAnswer | undefined {
    if (method !== 'tools/call' || this.#declared.size === 0) return undefined;
    const { name, arguments: given } = objectAt(body, spans.params);
    const declared = typeof name === 'string' ? this.#declared.get(name) : undefined;
    const header = declared && mismatchedHeader(declared, given, headers);
    if (header === undefined) return undefined;
    const error = { code: HEADER_MISMATCH, message: `The header ${header} does not repeat its argument` };
    const text = `{"jsonrpc":"2.0","id":${idText ?? 'null'},"error":${JSON.stringify(error)}}`;
    return { status: 400, body: Buffer.from(text), kind: 'error' };
  }
}
