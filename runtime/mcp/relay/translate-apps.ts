import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { replaceApps } from '../aggregate/app-references.ts';
import type { AppAliases } from '../aggregate/app-uris.ts';
import type { AnswerSink, BackendCall } from '../backends/backend.ts';
import { encodeHeaderValue } from '../modern/header-value.ts';

/** Sends a call with the backend's own URIs of its apps, and gives its answer the URIs that clients see. Lists are composed elsewhere. */
export function translateApps(call: BackendCall, { toAlias, toOwn }: AppAliases): BackendCall {
  const { body, headers, sink } = call;
  return {
    ...call,
    body: body && Buffer.from(replaceApps(body.toString('utf8'), toOwn)),
    headers: headers.map((value, index) => (headers[index - 1] === 'mcp-name' ? ownHeader(value, toOwn) : value)),
    sink: call.method.endsWith('/list') ? sink : translating(sink, toAlias),
  };
}

function ownHeader(value: string, own: ReadonlyMap<string, string>): string {
  for (const [alias, uri] of own) if (encodeHeaderValue(alias) === value) return encodeHeaderValue(uri);
  return value;
}

/** Without `part`, the reader passes large answers in one piece. */
function translating(sink: AnswerSink, aliases: ReadonlyMap<string, string>): AnswerSink {
  return {
    json(status, body, kind, sessionId) {
      sink.json(status, Buffer.from(replaceApps(body.toString('utf8'), aliases)), kind, sessionId);
    },
    event(event) {
      const data = replaceApps(event.data, aliases);
      sink.event(data === event.data ? event : { ...event, data, message: decodeBackendMessage(data) });
    },
    accepted: () => sink.accepted(),
    open: (flow, sessionId) => sink.open(flow, sessionId),
    ...(sink.named && { named: (name, data) => sink.named?.(name, data) }),
    close: (complete, isBroken) => sink.close(complete, isBroken),
    fail: (failure) => sink.fail(failure),
    ...(sink.awaitsClient && { awaitsClient: () => sink.awaitsClient?.() === true }),
  };
}
