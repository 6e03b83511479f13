import { passthroughHeaders } from '#runtime/mcp/relay/passthrough-headers';
import type { KindCatalogue } from '../aggregate/catalogue.ts';
import { modernHeaders } from '../backends/probe.ts';
import { TASK_METHODS } from '../extensions.ts';
import type { Framing, Handler } from '../framing.ts';
import { serveTask } from '../tasks/serve-task.ts';
import { answerConnect, withoutOwnResponses } from './answer-login.ts';
import { discover } from './discover.ts';
import { encodeHeaderValue } from './header-value.ts';
import { listen } from './listen.ts';
import { relayCall } from './relay-call.ts';
import { modernAsker, type ModernRequest } from './modern-request.ts';

export const modernFraming: Framing<ModernRequest> = {
  era: 'modern',
  handlers: new Map<string, Handler<ModernRequest>>([
    ['server/discover', discover],
    ['subscriptions/listen', listen],
    ...TASK_METHODS.map((method) => [method, (request: ModernRequest) => serveTask(request, modernFraming)] as const),
  ]),
  asker: modernAsker,
  catalogue: ({ services }, asker) => services.catalogues.of(asker),
  renderList: (request, list, entries) =>
    `"resultType":"complete",${entries},"ttlMs":${list.ttlMs},"cacheScope":"${isShared(request, list) ? 'public' : 'private'}"`,
  edits: withoutOwnResponses,
  keepAlive: (_request, work) => work(),
  answerConnect,
  relay: (request, call) => relayCall(request, call, headersFor(request, call.originalName)),
};

/** A list that depends on policies or credentials of a caller is private. */
function isShared({ services }: ModernRequest, list: KindCatalogue): boolean {
  return (
    list.isPublic &&
    services.config.authz === undefined &&
    services.backends.all.every(({ authorizer, credential }) => authorizer === undefined && !credential.perUser)
  );
}

function headersFor({ message, requestRecord, services }: ModernRequest, name: string | undefined): string[] {
  const headers = modernHeaders(message.method);
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name));
  for (const [header, value] of Object.entries(requestRecord.req.headers)) {
    if (header.startsWith('mcp-param-') && typeof value === 'string') headers.push(header, value);
  }
  headers.push(...passthroughHeaders(requestRecord.req, services));
  return headers;
}
