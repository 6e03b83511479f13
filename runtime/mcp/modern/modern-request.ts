import type { Asker } from '../aggregate/asker.ts';
import { LIST_SPECS } from '../aggregate/list-kinds.ts';
import { ask } from '../backends/ask.ts';
import { modernHeaders } from '../backends/probe.ts';
import { MODERN_REVISION } from '../era.ts';
import type { ClientRequest } from '../client-request.ts';
import type { RequestMeta } from './check-request.ts';

export interface ModernRequest extends ClientRequest {
  readonly meta: RequestMeta;
}

/** Includes the client's capabilities, as backends may hide items that need them. */
function metaText({ capabilities, clientInfo }: RequestMeta): string {
  const info = clientInfo === undefined ? '' : `"io.modelcontextprotocol/clientInfo":${clientInfo},`;
  return `{"io.modelcontextprotocol/protocolVersion":"${MODERN_REVISION}",${info}"io.modelcontextprotocol/clientCapabilities":${capabilities}}`;
}

export function modernAsker({ meta, identity, services }: ModernRequest): Asker {
  return {
    era: 'modern',
    identity,
    capabilities: meta.capabilities,
    ask(backend, kind, cursor) {
      const { method } = LIST_SPECS[kind];
      const at = cursor === undefined ? '' : `"cursor":${JSON.stringify(cursor)},`;
      return ask(backend, {
        identity,
        era: 'modern',
        caller: meta,
        method,
        paramsText: `{${at}"_meta":${metaText(meta)}}`,
        headers: modernHeaders(method),
        deadline: services.config.operational.timeouts.default,
      });
    },
  };
}
