import { RequestError } from '#runtime/errors';
import { answerJson } from '#runtime/http/answer-json';
import type { Services } from '#runtime/services';
import { ALL_REVISIONS, LEGACY_REVISIONS, MODERN_REVISION } from '../era.ts';
import { ASSUMED, mergeCapabilities } from '../sessions/capabilities.ts';
import { instructionsOf, mergeInstructions } from '../sessions/instructions.ts';
import type { ModernRequest } from './modern-request.ts';

const METHOD_NOT_FOUND = -32601;
const NOT_OFFERED =
  `server/discover is not offered, as some backends speak older revisions only: send initialize. ` +
  `Other requests of ${MODERN_REVISION} reach the backends that speak it.`;

/**
 * Answers server/discover. A client that supports both revisions picks the newer one if offered, and then cannot use backends
 * of older revisions only. While such a backend is reachable, the gateway answers like a server without the method.
 */
export function discover({ res, message, services }: ModernRequest): void {
  if (losesBackends(services)) {
    // Every client initializes on -32601 at HTTP 200. On -32022 @ai-sdk/mcp gives up, and some clients hang on HTTP 4xx.
    throw new RequestError({
      status: 200,
      code: 'method_not_found',
      text: NOT_OFFERED,
      rpc: { code: METHOD_NOT_FOUND, data: { supported: LEGACY_REVISIONS, requested: MODERN_REVISION } },
    });
  }
  // Includes backends that are down now: their last lists are used.
  const serving = services.backends.all.filter(({ health }) => health.eras?.has('modern') ?? true);
  const result = {
    resultType: 'complete',
    supportedVersions: ALL_REVISIONS,
    capabilities: mergeCapabilities(
      serving.flatMap(({ health, credential }) => health.capabilities ?? (credential.login ? [ASSUMED] : [])),
    ),
    instructions: mergeInstructions(serving.map(instructionsOf)),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: services.config.server.name, version: services.version } },
  };
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`);
}

function losesBackends({ backends }: Services): boolean {
  return backends.all.some(
    ({ health }) => health.phase !== 'unavailable' && health.eras !== undefined && !health.eras.has('modern'),
  );
}
