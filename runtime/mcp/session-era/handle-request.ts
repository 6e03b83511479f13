import { answerJson } from '#runtime/http/answer-json';
import { passthroughHeaders } from '#runtime/mcp/relay/passthrough-headers';
import type { Asker } from '../aggregate/asker.ts';
import type { Backend } from '../backends/backend.ts';
import { listEntries } from './list-entries.ts';
import { answerConnect } from './answer-login.ts';
import { askWebhooks } from '../route/ask-webhooks.ts';
import { prepareCompletion, prepareNamed } from '../route/prepare-call.ts';
import { invalidParams, methodNotFound, unknownName } from '../route/refusals.ts';
import { authorizeCall, resolveName, resolveUri, type Target } from '../route/resolve-target.ts';
import { checkLimits, withinLimits, withinLimitsOfAll } from '../route/within-limits.ts';
import { ensureLeg, notifyRequest, toldSoon } from '../sessions/open-leg.ts';
import { underWay } from '../sessions/session.ts';
import { levelField, subscriptionField } from '../sessions/session-record.ts';
import { relayCall } from './relay-call.ts';
import { sessionAsker, sessionCatalogue, type SessionRequest } from './session-request.ts';

const MAX_SUBSCRIPTIONS = 1_000;
/** Of their URIs together: they are kept for as long as the session lives. */
const MAX_SUBSCRIBED = 131_072;
/** RFC 5424 §6.2.1, as MCP writes them. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

type Handler = (request: SessionRequest) => void | Promise<void>;

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['ping', answerEmpty],
  ['tools/list', counted((request) => listEntries('tools', request))],
  ['prompts/list', counted((request) => listEntries('prompts', request))],
  ['resources/list', counted((request) => listEntries('resources', request))],
  ['resources/templates/list', counted((request) => listEntries('templates', request))],
  ['tools/call', (request) => callNamed('tools', request)],
  ['prompts/get', (request) => callNamed('prompts', request)],
  ['resources/read', counted(callUri)],
  ['resources/subscribe', counted(callUri)],
  ['resources/unsubscribe', counted(callUri)],
  ['completion/complete', counted(complete)],
  ['logging/setLevel', counted(setLevel)],
]);

/** Answers one request of a client session. @throws RequestError */
export function handleRequest(request: SessionRequest): void | Promise<void> {
  const handler = handlers.get(request.message.method);
  if (!handler) throw methodNotFound('session');
  checkLimits(request.message.method, request.rooms, request.identity);
  return handler(request);
}

function counted(handler: (request: SessionRequest) => Promise<void>): Handler {
  return (request) => underWay(request.session, () => handler(request));
}

function answerEmpty({ res, message }: SessionRequest): void {
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":{}}`);
}

function callNamed(kind: 'tools' | 'prompts', request: SessionRequest): Promise<void> {
  const { session, identity, rooms, message } = request;
  const name = message.params?.name;
  if (typeof name !== 'string') throw invalidParams(`${message.method} needs params.name`);
  const asker = sessionAsker(session, identity, rooms);
  const target = resolveName(kind, name, sessionCatalogue(session, asker, rooms), asker, rooms);
  return target instanceof Promise
    ? underWay(session, async () => forward(kind, await target, asker, request))
    : forward(kind, target, asker, request);
}

function forward(kind: 'tools' | 'prompts', target: Target, asker: Asker, request: SessionRequest): Promise<void> {
  if (target.entry.connects !== undefined) return connect(kind, target, request);
  const call = prepareNamed(kind, target, asker, request);
  const { webhooks } = target.backend;
  const relay = () => relayCall(request, call, passthroughHeaders(request.trail.req, request.rooms));
  const send =
    webhooks && kind === 'tools'
      ? () => underWay(request.session, () => askWebhooks(webhooks, target, request, relay))
      : relay;
  return withinLimits(target.backend, kind === 'tools' ? target.entry : undefined, request, send);
}

async function connect(kind: 'tools' | 'prompts', target: Target, request: SessionRequest): Promise<void> {
  if (await answerConnect(request, target)) return;
  const { session, identity, rooms } = request;
  const asker = sessionAsker(session, identity, rooms);
  const now = await resolveName(kind, target.entry.name, sessionCatalogue(session, asker, rooms), asker, rooms);
  if (now.entry.connects !== undefined) throw unknownName(kind, 'session', target.entry.name);
  await forward(kind, now, asker, request);
}

async function callUri(request: SessionRequest): Promise<void> {
  const { session, identity, rooms, message, trail, body } = request;
  const uri = message.params?.uri;
  if (typeof uri !== 'string') throw invalidParams(`${message.method} needs params.uri`);
  const asker = sessionAsker(session, identity, rooms);
  const target = await resolveUri(uri, sessionCatalogue(session, asker, rooms), asker, rooms);
  authorizeCall('resources', target, undefined, asker, rooms, trail);
  const call = { backend: target.backend, originalName: uri, body, idempotent: true };
  await withinLimits(target.backend, undefined, request, async () => {
    if (message.method !== 'resources/read') await rememberSubscription(request, uri, target.backend.name);
    await relayCall(request, call, passthroughHeaders(trail.req, rooms));
  });
}

/** So that it can be renewed at a backend that forgets the session, and none is told of that it did not ask for. */
async function rememberSubscription(request: SessionRequest, uri: string, backend: string): Promise<void> {
  const { session, message, rooms } = request;
  const isWanted = message.method === 'resources/subscribe';
  if (isWanted) {
    session.subscriptions ??= new Map();
    if (!session.subscriptions.has(uri)) checkRoom([...session.subscriptions.keys()], uri);
    session.subscriptions.set(uri, backend);
  } else if (session.subscriptions?.delete(uri) !== true) {
    return;
  }
  await rooms.sessions.remember(session, subscriptionField(uri, isWanted ? backend : undefined));
}

/** @throws RequestError */
function checkRoom(subscribed: readonly string[], uri: string): void {
  if (subscribed.length >= MAX_SUBSCRIPTIONS)
    throw invalidParams(`A session has at most ${MAX_SUBSCRIPTIONS} subscriptions: unsubscribe from others`);
  if (subscribed.reduce((sum, { length }) => sum + length, uri.length) > MAX_SUBSCRIBED)
    throw invalidParams(
      `URIs of subscriptions have at most ${MAX_SUBSCRIBED} characters together: unsubscribe from others`,
    );
}

async function complete(request: SessionRequest): Promise<void> {
  const { session, identity, rooms, trail } = request;
  const asker = sessionAsker(session, identity, rooms);
  const call = await prepareCompletion(sessionCatalogue(session, asker, rooms), asker, request);
  await withinLimits(call.backend, undefined, request, () =>
    relayCall(request, call, passthroughHeaders(trail.req, rooms)),
  );
}

/** The level holds at every backend that logs; legs that open later are told then. */
async function setLevel(request: SessionRequest): Promise<void> {
  const { session, rooms, message } = request;
  const level = message.params?.level;
  if (typeof level !== 'string' || !LEVELS.includes(level))
    throw invalidParams(`logging/setLevel needs params.level: ${LEVELS.join(', ')}`);
  const logging = session.legs.flatMap(({ backend: name }) => {
    const backend = rooms.backends.get(name);
    return backend?.health.capabilities?.logging ? [backend] : [];
  });
  await withinLimitsOfAll(logging, request, async () => {
    session.logLevel = level;
    await rooms.sessions.remember(session, levelField(level));
    await toldSoon(logging.map((backend) => tellLevel(backend, request)));
    answerEmpty(request);
  });
}

async function tellLevel(backend: Backend, request: SessionRequest): Promise<void> {
  const { session, identity, rooms, message, body } = request;
  const leg = await ensureLeg(session, backend, identity, rooms);
  const deadline = rooms.config.limits.list_deadline;
  await notifyRequest(backend, leg, { identity, method: message.method, idText: message.idText, body, deadline });
}
