import type { WebhookCall } from './webhook-call.ts';

const VERSION = 'v1';

export interface Asked {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Renders the body of a question: caller, tool and arguments. It never contains the caller's token. */
export function renderQuestion(call: WebhookCall, server: { namespace: string; name: string }, asked: Asked): string {
  const { identity, workload, tool, originalName, args, revision, clientName, clientVersion } = call;
  const { subject, issuer, clientId, groups, claims } = identity;
  return JSON.stringify({
    version: VERSION,
    uid: asked.uid,
    timestamp: new Date(asked.at).toISOString(),
    server: { namespace: server.namespace, name: server.name },
    workload,
    principal: { subject, issuer, client_id: clientId, groups, claims },
    client: { name: clientName, version: clientVersion, revision },
    request: { method: 'tools/call', tool, original_name: originalName, arguments: args },
  });
}
