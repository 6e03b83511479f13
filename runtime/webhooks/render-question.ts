import type { WebhookCall } from './webhook-call.ts';

const VERSION = 'v1';

/** Which question this is, and when it is asked. */
export interface Asked {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The body of a question: who calls which tool with what. The caller's token is never in it. */
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
