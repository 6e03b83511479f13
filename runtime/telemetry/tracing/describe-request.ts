import type { Attributes } from '@opentelemetry/api';
import { METHODS } from '#runtime/telemetry/methods';
import type { RequestRecord } from '#runtime/request-record';

/** Attribute names of older conventions, in addition to the current ones. */
const LEGACY: readonly (readonly [string, string])[] = [
  ['http.request.method', 'http.method'],
  ['http.response.status_code', 'http.status_code'],
  ['url.path', 'http.target'],
  ['mcp.method.name', 'mcp.method'],
  ['gen_ai.tool.name', 'mcp.tool.name'],
  ['gen_ai.prompt.name', 'mcp.prompt.name'],
];

/** Span name `tools/call <tool>` of the MCP conventions, without names that no backend offers: they are text of the caller. */
export function nameOf({ method, req, target, backend }: RequestRecord): string {
  const known = knownMethod(method ?? req.method);
  const isNamed = backend !== undefined && target !== undefined && (known === 'tools/call' || known === 'prompts/get');
  return isNamed ? `${known} ${target}` : known;
}

/** Returns the attributes of a request. They contain no argument, resource URI, token or error text. */
export function describeRequest(requestRecord: RequestRecord, useLegacy: boolean): Attributes {
  const { req, status, revision, session, backend, bridge, outcome, code } = requestRecord;
  const all: Attributes = {
    'http.request.method': req.method ?? '_OTHER',
    'http.response.status_code': status,
    'url.path': pathOf(req.url ?? ''),
    'network.protocol.version': req.httpVersion,
    'mcp.method.name': knownMethod(requestRecord.method),
    'mcp.protocol.version': revision,
    'mcp.session.id': session,
    'vmcp.backend': backend,
    'vmcp.bridge': bridge,
    'vmcp.outcome': outcome,
    'error.type': outcome === 'success' ? undefined : (code ?? (outcome === 'tool_error' ? outcome : String(status))),
    ...describeTarget(requestRecord),
  };
  const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return useLegacy ? { ...present, ...legacyOf(present) } : present;
}

function describeTarget({ method, target, backend }: RequestRecord): Attributes {
  if (backend === undefined || target === undefined) return {};
  if (method === 'tools/call') return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': target };
  return method === 'prompts/get' ? { 'gen_ai.prompt.name': target } : {};
}

function legacyOf(attributes: Attributes): Attributes {
  return Object.fromEntries(
    LEGACY.filter(([today]) => attributes[today] !== undefined).map(([today, before]) => [before, attributes[today]]),
  );
}

/** Returns the method if MCP defines it. Other methods are text of the caller. */
function knownMethod(method: string | undefined): string {
  return method !== undefined && METHODS.has(method) ? method : '_OTHER';
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
