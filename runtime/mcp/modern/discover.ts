import { answerJson } from '#runtime/http/answer-json';
import { ALL_REVISIONS } from '../era.ts';
import { ASSUMED, mergeCapabilities } from '../sessions/capabilities.ts';
import { instructionsOf, mergeInstructions } from '../sessions/instructions.ts';
import type { ModernRequest } from './modern-request.ts';

/** Answers server/discover with the merged capabilities of all backends: a bridge serves those of older revisions. */
export function discover({ res, message, services }: ModernRequest): void {
  // Includes backends that are down now: their last lists are used.
  const serving = services.backends.all;
  const result = {
    resultType: 'complete',
    supportedVersions: ALL_REVISIONS,
    capabilities: mergeCapabilities(
      serving.flatMap(({ health, credential }) => health.capabilities ?? (credential.login ? [ASSUMED] : [])),
      'modern',
    ),
    instructions: mergeInstructions(serving.map(instructionsOf)),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: services.config.server.name, version: services.version } },
  };
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`);
}
