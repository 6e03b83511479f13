import { WebhookRefusal } from '#runtime/webhooks/refusals';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { ClientRequest } from '../client-request.ts';
import type { Target } from './resolve-target.ts';

/** Sends nothing if the client no longer waits. @throws WebhookRefusal */
export async function askWebhooks(
  gate: WebhookGate,
  { entry, backend }: Target,
  { res, message, identity, requestRecord }: ClientRequest,
  send: () => Promise<void>,
): Promise<void> {
  try {
    await gate.check({
      identity,
      workload: backend.name,
      tool: entry.name,
      originalName: entry.originalName,
      args: message.params?.arguments,
      revision: requestRecord.revision,
      clientName: requestRecord.clientName,
      clientVersion: requestRecord.clientVersion,
    });
  } catch (error) {
    if (error instanceof WebhookRefusal) requestRecord.webhook = error.webhook;
    throw error;
  }
  if (!res.destroyed) await send();
}
