import { RequestError } from '#runtime/errors';
import { answerJson } from '#runtime/http/answer-json';
import type { Rooms } from '#runtime/rooms';
import { serves } from '../backends/health.ts';
import { ALL_REVISIONS, SESSION_REVISIONS, STATELESS_REVISION } from '../era.ts';
import { ASSUMED, mergeCapabilities, mergeInstructions } from '../sessions/capabilities.ts';
import type { StatelessRequest } from './stateless-request.ts';

const UNSUPPORTED_VERSION = -32022;

/**
 * Answers server/discover. A client that knows both eras takes the newer one where it is offered, and would then miss the
 * backends that speak only the older: so it is offered only where no reachable backend would be lost.
 */
export function discover({ res, message, rooms }: StatelessRequest): void {
  if (losesBackends(rooms)) {
    throw new RequestError({
      status: 400,
      code: 'unsupported_version',
      text: 'Unsupported protocol version: some backends of this server speak older revisions only',
      rpc: { code: UNSUPPORTED_VERSION, data: { supported: SESSION_REVISIONS, requested: STATELESS_REVISION } },
    });
  }
  const serving = rooms.backends.all.filter(({ health }) => serves(health, 'stateless'));
  const result = {
    resultType: 'complete',
    supportedVersions: ALL_REVISIONS,
    capabilities: mergeCapabilities(
      serving.flatMap(({ health, credential }) => health.capabilities ?? (credential.login ? [ASSUMED] : [])),
    ),
    instructions: mergeInstructions(
      serving.map(({ name, health }) => ({ backend: name, instructions: health.capabilities?.instructions })),
    ),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: rooms.config.server.name, version: rooms.version } },
  };
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`);
}

function losesBackends({ backends }: Rooms): boolean {
  return backends.all.some(
    ({ health }) => health.phase === 'ready' && health.eras !== undefined && !health.eras.has('stateless'),
  );
}
