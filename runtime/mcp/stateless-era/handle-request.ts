import { answerJson } from '#runtime/http/answer-json';
import { passthroughHeaders } from '#runtime/mcp/relay/passthrough-headers';
import type { ListKind } from '../aggregate/list-kinds.ts';
import { statelessHeaders } from '../backends/probe.ts';
import { splice } from '../envelope/splice.ts';
import { askWebhooks } from '../route/ask-webhooks.ts';
import { prepareCompletion, prepareNamed } from '../route/prepare-call.ts';
import { invalidParams, methodNotFound, unknownName } from '../route/refusals.ts';
import { listPage } from '../route/list-page.ts';
import { renderEntries } from '../route/render-entries.ts';
import { authorizeCall, resolveName, resolveUri, type Target } from '../route/resolve-target.ts';
import { checkLimits, withinLimits } from '../route/within-limits.ts';
import { answerConnect, withoutOwnResponses } from './answer-login.ts';
import { discover } from './discover.ts';
import { encodeHeaderValue } from './header-value.ts';
import { listen } from './listen.ts';
import { relayCall } from './relay-call.ts';
import { statelessAsker, type StatelessRequest } from './stateless-request.ts';

type Handler = (request: StatelessRequest) => void | Promise<void>;

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['server/discover', discover],
  ['subscriptions/listen', listen],
  ['tools/list', (request) => listEntries('tools', request)],
  ['prompts/list', (request) => listEntries('prompts', request)],
  ['resources/list', (request) => listEntries('resources', request)],
  ['resources/templates/list', (request) => listEntries('templates', request)],
  ['tools/call', (request) => callNamed('tools', request)],
  ['prompts/get', (request) => callNamed('prompts', request)],
  ['resources/read', readResource],
  ['completion/complete', complete],
]);

/** Answers one request of revision 2026-07-28. @throws RequestError */
export function handleRequest(request: StatelessRequest): void | Promise<void> {
  const handler = handlers.get(request.message.method);
  if (!handler) throw methodNotFound('stateless');
  checkLimits(request.message.method, request.rooms, request.identity);
  return handler(request);
}

/** A per-identity list is private; a shared one is what its least open part is. */
async function listEntries(kind: ListKind, request: StatelessRequest): Promise<void> {
  const { rooms, message, res } = request;
  const asker = statelessAsker(request);
  const list = await listPage(kind, message, rooms.catalogues.of(asker), asker, rooms);
  const isShared =
    list.isPublic &&
    rooms.config.authz === undefined &&
    rooms.backends.all.every(({ authorizer, credential }) => authorizer === undefined && !credential.perUser);
  const members = `"resultType":"complete",${renderEntries(kind, list, asker, rooms)},"ttlMs":${list.ttlMs},"cacheScope":"${isShared ? 'public' : 'private'}"`;
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":{${members}}}`);
}

function callNamed(kind: 'tools' | 'prompts', request: StatelessRequest): Promise<void> {
  const { rooms, message } = request;
  const name = message.params?.name;
  if (typeof name !== 'string') throw invalidParams(`${message.method} needs params.name`);
  const asker = statelessAsker(request);
  const target = resolveName(kind, name, rooms.catalogues.of(asker), asker, rooms);
  return target instanceof Promise
    ? target.then((found) => forward(kind, found, request))
    : forward(kind, target, request);
}

function forward(kind: 'tools' | 'prompts', target: Target, request: StatelessRequest): Promise<void> {
  if (target.entry.connects !== undefined) return connect(kind, target, request);
  const call = prepareNamed(kind, target, statelessAsker(request), request, withoutOwnResponses(request.message));
  const { webhooks } = target.backend;
  const relay = () => relayCall(request, call, headersFor(request, call.originalName));
  const send = webhooks && kind === 'tools' ? () => askWebhooks(webhooks, target, request, relay) : relay;
  return withinLimits(target.backend, kind === 'tools' ? target.entry : undefined, request, send);
}

async function connect(kind: 'tools' | 'prompts', target: Target, request: StatelessRequest): Promise<void> {
  if (await answerConnect(request, target)) return;
  const { rooms } = request;
  const asker = statelessAsker(request);
  const now = await resolveName(kind, target.entry.name, rooms.catalogues.of(asker), asker, rooms);
  if (now.entry.connects !== undefined) throw unknownName(kind, 'stateless', target.entry.name);
  await forward(kind, now, request);
}

async function readResource(request: StatelessRequest): Promise<void> {
  const { rooms, message, trail, body } = request;
  const uri = message.params?.uri;
  if (typeof uri !== 'string') throw invalidParams('resources/read needs params.uri');
  const asker = statelessAsker(request);
  const target = await resolveUri(uri, rooms.catalogues.of(asker), asker, rooms);
  authorizeCall('resources', target, undefined, asker, rooms, trail);
  const own = splice(body, withoutOwnResponses(message));
  const call = { backend: target.backend, originalName: uri, body: own, idempotent: true };
  await withinLimits(target.backend, undefined, request, () => relayCall(request, call, headersFor(request, uri)));
}

async function complete(request: StatelessRequest): Promise<void> {
  const asker = statelessAsker(request);
  const call = await prepareCompletion(request.rooms.catalogues.of(asker), asker, request);
  await withinLimits(call.backend, undefined, request, () =>
    relayCall(request, call, headersFor(request, call.originalName)),
  );
}

/** Headers that say what the body says, with the backend's own name, and the client's Mcp-Param headers. */
function headersFor({ message, trail, rooms }: StatelessRequest, name: string | undefined): string[] {
  const headers = statelessHeaders(message.method);
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name));
  for (const [header, value] of Object.entries(trail.req.headers)) {
    if (header.startsWith('mcp-param-') && typeof value === 'string') headers.push(header, value);
  }
  headers.push(...passthroughHeaders(trail.req, rooms));
  return headers;
}
