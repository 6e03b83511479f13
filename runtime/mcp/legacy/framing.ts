import { answerJson } from '#runtime/http/answer-json';
import { passthroughHeaders } from '#runtime/mcp/relay/passthrough-headers';
import type { Edit } from '../envelope/splice.ts';
import type { Framing, Handler } from '../framing.ts';
import { serveUri } from '../serve-call.ts';
import { CORE_TASK_METHODS } from '../extensions.ts';
import { backendSessionOf, whileInUse } from '../sessions/session.ts';
import { serveTask } from '../tasks/serve-task.ts';
import { answerConnect } from './answer-login.ts';
import { listTasks } from './list-tasks.ts';
import { relayCall } from './relay-call.ts';
import { sessionAsker, sessionCatalogue, type LegacyRequest } from './legacy-request.ts';
import { setLevel } from './set-level.ts';
import { rememberSubscription } from './subscriptions.ts';

const NONE: readonly Edit[] = [];

export const legacyFraming: Framing<LegacyRequest> = {
  era: 'legacy',
  handlers: new Map<string, Handler<LegacyRequest>>([
    ['ping', answerEmpty],
    ...CORE_TASK_METHODS.map(
      (method) => [method, (request: LegacyRequest) => serveTask(request, legacyFraming, sessionsOf(request))] as const,
    ),
    [
      'tasks/list',
      (request) => whileInUse(request.session, () => listTasks(request, legacyFraming, sessionsOf(request))),
    ],
    ['resources/subscribe', (request) => serveUri(request, subscribing)],
    ['resources/unsubscribe', (request) => serveUri(request, subscribing)],
    [
      'logging/setLevel',
      (request) =>
        whileInUse(request.session, async () => {
          await setLevel(request, () => answerEmpty(request));
        }),
    ],
  ]),
  asker: ({ session, identity, services }) => sessionAsker(session, identity, services),
  catalogue: ({ session, services }, asker) => sessionCatalogue(session, asker, services),
  renderList: (_request, _list, entries) => entries,
  edits: () => NONE,
  keepAlive: ({ session }, work) => whileInUse(session, work),
  answerConnect,
  relay: (request, call) => relayCall(request, call, passthroughHeaders(request.requestRecord.req, request.services)),
};

const subscribing: Framing<LegacyRequest> = {
  ...legacyFraming,
  async relay(request, call) {
    await rememberSubscription(request, call);
    await legacyFraming.relay(request, call);
  },
};

function sessionsOf({ session }: LegacyRequest): (backend: string) => string {
  return (backend) => backendSessionOf(session, backend)?.sessionId ?? '';
}

function answerEmpty({ res, message }: LegacyRequest): void {
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":{}}`);
}
