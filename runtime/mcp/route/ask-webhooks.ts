import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Trail } from '#runtime/trail';
import { WebhookRefusal } from '#runtime/webhooks/refusals';
import type { WebhookGate } from '#runtime/webhooks/webhook-call';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import type { Target } from './resolve-target.ts';

interface Requested {
  readonly res: ServerResponse;
  readonly message: DecodedRequest;
  readonly identity: Identity;
  readonly trail: Trail;
}

/**
 * Sends a call that its policies allow, when the webhooks of its MCPServer have let it through and its client still waits.
 * @throws WebhookRefusal
 */
export async function askWebhooks(
  gate: WebhookGate,
  { entry, backend }: Target,
  { res, message, identity, trail }: Requested,
  send: () => Promise<void>,
): Promise<void> {
  try {
    await gate.check({
      identity,
      workload: backend.name,
      tool: entry.name,
      originalName: entry.originalName,
      args: message.params?.arguments,
      revision: trail.revision,
      clientName: trail.clientName,
      clientVersion: trail.clientVersion,
    });
  } catch (error) {
    if (error instanceof WebhookRefusal) trail.webhook = error.webhook;
    throw error;
  }
  if (!res.destroyed) await send();
}
