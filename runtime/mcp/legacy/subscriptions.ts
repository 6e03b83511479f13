import type { PreparedCall } from '../route/prepare-call.ts';
import { invalidParams } from '../route/refusals.ts';
import { subscriptionField } from '../sessions/session-record.ts';
import type { LegacyRequest } from './legacy-request.ts';

const MAX_SUBSCRIPTIONS = 1_000;
/** Characters of all URIs of one session, which may live long. */
const MAX_SUBSCRIBED = 131_072;

/** Allows a renewal at a backend that loses the session. @throws RequestError */
export async function rememberSubscription(
  { session, message, services }: LegacyRequest,
  { backend, originalName: uri }: PreparedCall,
): Promise<void> {
  if (uri === undefined) return;
  const isWanted = message.method === 'resources/subscribe';
  if (isWanted) {
    session.subscriptions ??= new Map();
    if (!session.subscriptions.has(uri)) checkBound([...session.subscriptions.keys()], uri);
    session.subscriptions.set(uri, backend.name);
  } else if (session.subscriptions?.delete(uri) !== true) {
    return;
  }
  await services.sessions.remember(session, subscriptionField(uri, isWanted ? backend.name : undefined));
}

/** @throws RequestError */
function checkBound(subscribed: readonly string[], uri: string): void {
  if (subscribed.length >= MAX_SUBSCRIPTIONS)
    throw invalidParams(`A session has at most ${MAX_SUBSCRIPTIONS} subscriptions: unsubscribe from others`);
  if (subscribed.reduce((sum, { length }) => sum + length, uri.length) > MAX_SUBSCRIBED)
    throw invalidParams(
      `URIs of subscriptions have at most ${MAX_SUBSCRIBED} characters together: unsubscribe from others`,
    );
}
