import type { IncomingHttpHeaders } from 'node:http';
import { RequestError } from '#runtime/errors';
import { META_VERSION } from '../classify-era.ts';
import { isJsonObject, type DecodedRequest } from '../envelope/decode-request.ts';
import { CLIENT_CAPABILITIES as META_CAPABILITIES, TASK_METHODS } from '../extensions.ts';
import { ALL_REVISIONS, MODERN_REVISION } from '../era.ts';
import { invalidParams } from '../route/refusals.ts';
import { decodeHeaderValue } from './header-value.ts';

const HEADER_MISMATCH = -32020;
const UNSUPPORTED_VERSION = -32022;
const META_INFO = 'io.modelcontextprotocol/clientInfo';

const MAX_META_BYTES = 65_536;

/** A header must repeat the target of these requests. */
const NAMED: ReadonlyMap<string, 'name' | 'uri' | 'taskId'> = new Map<string, 'name' | 'uri' | 'taskId'>([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ...TASK_METHODS.map((method) => [method, 'taskId'] as const),
]);

/** Texts are JSON, as the client wrote them. */
export interface RequestMeta {
  readonly capabilities: string;
  readonly clientInfo: string | undefined;
  readonly clientName: string | undefined;
  readonly clientVersion: string | undefined;
}

function mismatch(text: string): RequestError {
  return new RequestError({ status: 400, code: 'header_mismatch', text, rpc: { code: HEADER_MISMATCH } });
}

/** @throws RequestError 400 -32022 */
function checkVersion(requested: string): void {
  if (requested === MODERN_REVISION) return;
  throw new RequestError({
    status: 400,
    code: 'unsupported_version',
    text: 'Unsupported protocol version',
    rpc: { code: UNSUPPORTED_VERSION, data: { supported: ALL_REVISIONS, requested } },
  });
}

/** Revision 2026-07-28: `_meta`, and headers that agree with the body. @throws RequestError 400 with -32602, -32020 or -32022 */
export function checkRequest(headers: IncomingHttpHeaders, message: DecodedRequest, body: Buffer): RequestMeta {
  const meta = message.params?._meta;
  const version = isJsonObject(meta) ? meta[META_VERSION] : undefined;
  if (!isJsonObject(meta) || typeof version !== 'string') throw invalidParams(`_meta needs ${META_VERSION}`, 400);
  const header = headers['mcp-protocol-version'];
  if (header === undefined) throw mismatch('The MCP-Protocol-Version header is missing');
  if (header !== version) throw mismatch('The MCP-Protocol-Version header does not match the body');
  checkVersion(version);
  if (!isJsonObject(meta[META_CAPABILITIES])) throw invalidParams(`_meta needs ${META_CAPABILITIES}`, 400);
  checkMethodHeaders(headers, message);
  // It is part of cache keys and of other requests.
  const span = message.spans['params._meta'];
  if (span && span.end - span.start > MAX_META_BYTES) throw invalidParams('_meta is too large', 400);
  return readMeta(message, body, meta[META_INFO]);
}

function checkMethodHeaders(headers: IncomingHttpHeaders, { method, params }: DecodedRequest): void {
  const header = headers['mcp-method'];
  if (header === undefined) throw mismatch('The Mcp-Method header is missing');
  if (header !== method) throw mismatch('The Mcp-Method header does not match the body');
  const member = NAMED.get(method);
  if (member === undefined) return;
  const name = headers['mcp-name'];
  if (name === undefined) throw mismatch('The Mcp-Name header is missing');
  if (typeof name !== 'string' || decodeHeaderValue(name) !== params?.[member]) {
    throw mismatch('The Mcp-Name header does not match the body');
  }
}

function readMeta({ meta }: DecodedRequest, body: Buffer, clientInfo: unknown): RequestMeta {
  const textOf = (wanted: string): string | undefined => {
    const member = meta.find(({ key }) => key === wanted);
    if (!member) return undefined;
    const text = body.toString('utf8', member.start, member.end);
    return text.slice(text.indexOf(':', JSON.stringify(wanted).length) + 1);
  };
  const info = isJsonObject(clientInfo) ? clientInfo : {};
  return {
    capabilities: textOf(META_CAPABILITIES) ?? '{}',
    clientInfo: isJsonObject(clientInfo) ? JSON.stringify(clientInfo) : undefined,
    clientName: typeof info.name === 'string' ? info.name.slice(0, 256) : undefined,
    clientVersion: typeof info.version === 'string' ? info.version.slice(0, 64) : undefined,
  };
}
