import { answerJson } from '#runtime/http/answer-json';
import { APP_SCHEME } from './aggregate/app-references.ts';
import type { Asker } from './aggregate/asker.ts';
import type { ListKind } from './aggregate/list-kinds.ts';
import type { ClientRequest } from './client-request.ts';
import { splice } from './envelope/splice.ts';
import type { Framing, Handler } from './framing.ts';
import { insertScript } from './relay/insert-script.ts';
import { askWebhooks } from './route/ask-webhooks.ts';
import { listPage } from './route/list-page.ts';
import { prepareCompletion, prepareNamed } from './route/prepare-call.ts';
import { invalidParams, methodNotFound, unknownName } from './route/refusals.ts';
import { renderAppScript } from './route/render-app-script.ts';
import { renderEntries } from './route/render-entries.ts';
import { authorizeCall, resolveName, resolveUri, type Target } from './route/resolve-target.ts';
import { checkLimits, withinLimits } from './route/within-limits.ts';

type Serve = <R extends ClientRequest>(request: R, framing: Framing<R>) => void | Promise<void>;

/** Methods of all revisions that aggregate or reach backends. */
const METHODS: ReadonlyMap<string, Serve> = new Map<string, Serve>([
  ['tools/list', (request, framing) => serveList('tools', request, framing)],
  ['prompts/list', (request, framing) => serveList('prompts', request, framing)],
  ['resources/list', (request, framing) => serveList('resources', request, framing)],
  ['resources/templates/list', (request, framing) => serveList('templates', request, framing)],
  ['tools/call', (request, framing) => serveNamed('tools', request, framing)],
  ['prompts/get', (request, framing) => serveNamed('prompts', request, framing)],
  ['resources/read', serveUri],
  ['completion/complete', serveCompletion],
]);

/** Answers one request. The revisions differ only in `framing`. @throws RequestError */
export function serveRequest<R extends ClientRequest>(request: R, framing: Framing<R>): void | Promise<void> {
  const { message, services, identity } = request;
  const own: Handler<R> | undefined = framing.handlers.get(message.method);
  const serve = METHODS.get(message.method);
  if (!own && !serve) throw methodNotFound(framing.era);
  checkLimits(message.method, services, identity);
  return own ? own(request) : serve?.(request, framing);
}

/** Serves a call of a tool or prompt: resolves the name, then runs `sendNamed`. */
function serveNamed<R extends ClientRequest>(
  kind: 'tools' | 'prompts',
  request: R,
  framing: Framing<R>,
): Promise<void> {
  const { message, services } = request;
  const name = message.params?.name;
  if (typeof name !== 'string') throw invalidParams(`${message.method} needs params.name`);
  request.requestRecord.target = name;
  const asker = framing.asker(request);
  const target = resolveName(kind, name, framing.catalogue(request, asker), asker, services);
  // Most names are known at once, and one more promise per call costs CPU.
  if (!(target instanceof Promise)) return sendNamed(kind, target, asker, request, framing);
  return framing.keepAlive(request, async () => sendNamed(kind, await target, asker, request, framing));
}

/** Requires the login at the backend's provider, authorizes, limits, calls webhooks, and relays with the credential. */
function sendNamed<R extends ClientRequest>(
  kind: 'tools' | 'prompts',
  target: Target,
  asker: Asker,
  request: R,
  framing: Framing<R>,
): Promise<void> {
  if (target.entry.connects !== undefined) return connect(kind, target, request, framing);
  const call = prepareNamed(kind, target, asker, request, framing.edits(request.message));
  const { webhooks } = target.backend;
  const relay = () => framing.relay(request, call);
  const send =
    webhooks && kind === 'tools'
      ? () => framing.keepAlive(request, () => askWebhooks(webhooks, target, request, relay))
      : relay;
  return withinLimits(target.backend, kind === 'tools' ? target.entry : undefined, request, send);
}

/** Answers with the login, or calls the resolved target after the login. */
async function connect<R extends ClientRequest>(
  kind: 'tools' | 'prompts',
  { entry, ...target }: Target,
  request: R,
  framing: Framing<R>,
): Promise<void> {
  if (await framing.answerConnect(request, { entry, ...target })) return;
  const asker = framing.asker(request);
  const now = await resolveName(kind, entry.name, framing.catalogue(request, asker), asker, request.services);
  if (now.entry.connects !== undefined) throw unknownName(kind, framing.era, entry.name);
  await sendNamed(kind, now, asker, request, framing);
}

/** Serves a request that names a resource by its URI: resolve, authorize, limit, relay. @throws RequestError */
export function serveUri<R extends ClientRequest>(request: R, framing: Framing<R>): Promise<void> {
  return framing.keepAlive(request, async () => {
    const { message, services, requestRecord, body } = request;
    const uri = message.params?.uri;
    if (typeof uri !== 'string') throw invalidParams(`${message.method} needs params.uri`);
    requestRecord.target = uri;
    const asker = framing.asker(request);
    const catalogue = framing.catalogue(request, asker);
    const target = await resolveUri(uri, catalogue, asker, services);
    authorizeCall('resources', target, undefined, asker, services, requestRecord);
    const own = splice(body, framing.edits(message));
    const script = uri.startsWith(APP_SCHEME)
      ? await renderAppScript(target.backend.name, catalogue, asker, services)
      : undefined;
    const rewrite = script === undefined ? undefined : (answer: string) => insertScript(answer, script);
    const call = { backend: target.backend, originalName: uri, body: own, idempotent: true, rewrite };
    await withinLimits(target.backend, undefined, request, () => framing.relay(request, call));
  });
}

function serveCompletion<R extends ClientRequest>(request: R, framing: Framing<R>): Promise<void> {
  return framing.keepAlive(request, async () => {
    const asker = framing.asker(request);
    const call = await prepareCompletion(framing.catalogue(request, asker), asker, request);
    await withinLimits(call.backend, undefined, request, () => framing.relay(request, call));
  });
}

/** Answers a list with all entries that the caller may see, on one page. */
function serveList<R extends ClientRequest>(kind: ListKind, request: R, framing: Framing<R>): Promise<void> {
  return framing.keepAlive(request, async () => {
    const { res, message, services } = request;
    const asker = framing.asker(request);
    const list = await listPage(kind, message, framing.catalogue(request, asker), asker, services);
    const result = framing.renderList(request, list, renderEntries(kind, list, asker, services));
    answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":{${result}}}`);
  });
}
