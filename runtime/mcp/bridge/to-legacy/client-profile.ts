import type { CallerMeta } from '#runtime/mcp/backends/backend';
import { ownInitialize } from '#runtime/mcp/backends/probe';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { LATEST_LEGACY_REVISION } from '#runtime/mcp/era';

/** A modern client as a legacy backend sees it. */
export interface ClientProfile {
  /** JSON text of the `initialize` params. */
  readonly paramsText: string;
  readonly capabilities: JsonObject;
  /** Whether a backend may send it requests. */
  readonly isAskable: boolean;
}

const ASKED = ['elicitation', 'sampling', 'roots'];

/**
 * Declares the client's own capabilities: backends decide by them what to list and to ask. Extensions and tasks are not
 * declared, as the bridge does not translate them.
 */
export function clientProfile(caller: CallerMeta | undefined, version: string): ClientProfile {
  if (!caller) return { paramsText: ownInitialize(version), capabilities: {}, isAskable: false };
  const declared = Object.entries(parsed(caller.capabilities));
  const capabilities = Object.fromEntries(declared.filter(([name]) => name !== 'extensions' && name !== 'tasks'));
  const clientInfo = caller.clientInfo === undefined ? {} : parsed(caller.clientInfo);
  const { name, version: clientVersion } = clientInfo;
  const params = {
    protocolVersion: LATEST_LEGACY_REVISION,
    capabilities,
    // Older revisions require both members.
    clientInfo: {
      ...clientInfo,
      name: typeof name === 'string' ? name : 'unknown',
      version: typeof clientVersion === 'string' ? clientVersion : '0',
    },
  };
  const isAskable = ASKED.some((capability) => capabilities[capability] !== undefined);
  return { paramsText: JSON.stringify(params), capabilities, isAskable };
}

function parsed(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? value : {};
}
