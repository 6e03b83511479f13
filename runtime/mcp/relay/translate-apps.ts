import { replaceApps } from '../aggregate/app-references.ts';
import type { AppAliases } from '../aggregate/app-uris.ts';
import type { BackendCall } from '../backends/backend.ts';
import { encodeHeaderValue } from '../modern/header-value.ts';
import { rewritingSink } from './rewriting-sink.ts';

/** Sends a call with the backend's own URIs of its apps, and gives its answer the URIs that clients see. Lists are composed elsewhere. */
export function translateApps(call: BackendCall, { toAlias, toOwn }: AppAliases): BackendCall {
  const { body, headers, sink } = call;
  return {
    ...call,
    body: body && Buffer.from(replaceApps(body.toString('utf8'), toOwn)),
    headers: headers.map((value, index) => (headers[index - 1] === 'mcp-name' ? ownHeader(value, toOwn) : value)),
    sink: call.method.endsWith('/list') ? sink : rewritingSink(sink, (message) => replaceApps(message, toAlias)),
  };
}

function ownHeader(value: string, own: ReadonlyMap<string, string>): string {
  for (const [alias, uri] of own) if (encodeHeaderValue(alias) === value) return encodeHeaderValue(uri);
  return value;
}
