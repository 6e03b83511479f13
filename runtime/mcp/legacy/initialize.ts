import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import { answerJson } from '#runtime/http/answer-json';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import { callFailure } from '../backends/failures.ts';
import { isAway } from '../backends/health.ts';
import { isJsonObject, type DecodedRequest } from '../envelope/decode-request.ts';
import { splice } from '../envelope/splice.ts';
import { LATEST_LEGACY_REVISION, LEGACY_REVISIONS } from '../era.ts';
import { invalidParams } from '../route/refusals.ts';
import { ASSUMED, mergeCapabilities } from '../sessions/capabilities.ts';
import { instructionsOf, mergeInstructions } from '../sessions/instructions.ts';
import { countedFor } from '../sessions/session-limits.ts';
import type { ClientProfile } from '../sessions/session.ts';

const MAX_PARAMS_BYTES = 65_536;

/** Sends nothing to backends. Their sessions open at the first use, or when the client opens its stream. */
export async function initialize(
  res: ServerResponse,
  body: Buffer,
  message: DecodedRequest,
  identity: Identity,
  services: Services,
  requestRecord: RequestRecord,
): Promise<void> {
  const profile = readProfile(body, message);
  requestRecord.clientName = profile.clientName;
  requestRecord.clientVersion = profile.clientVersion;
  requestRecord.revision = profile.revision;
  checkWhole(services);
  const owner = { principal: identity.key, countedFor: countedFor(identity, requestRecord.req, services) };
  const session = services.sessions.create(owner, profile);
  try {
    await services.sessions.opened(session, identity);
  } catch (error) {
    services.sessions.forget(session);
    throw error;
  }
  requestRecord.session = session.logId;
  const known = services.backends.all;
  const capabilities = mergeCapabilities(
    known.map(({ health }) => health.capabilities ?? ASSUMED),
    'legacy',
  );
  const result = {
    protocolVersion: profile.revision,
    // All capabilities are assumed of a silent backend, since the client cannot be told later.
    capabilities: profile.revision === LATEST_LEGACY_REVISION ? capabilities : { ...capabilities, tasks: undefined },
    serverInfo: { name: services.config.server.name, version: services.version },
    instructions: mergeInstructions(known.map(instructionsOf)),
  };
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`, {
    'mcp-session-id': session.id,
  });
}

function readProfile(body: Buffer, message: DecodedRequest): ClientProfile {
  const { params, spans } = message;
  const span = spans.params;
  if (!params || !span) throw invalidParams('initialize needs params');
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string') throw invalidParams('initialize needs params.protocolVersion');
  if (!isJsonObject(capabilities)) throw invalidParams('initialize needs params.capabilities');
  // The session keeps the params for its lifetime.
  if (span.end - span.start > MAX_PARAMS_BYTES) throw invalidParams('the params of initialize are too large');
  const info = isJsonObject(clientInfo) ? clientInfo : {};
  const isKnown = LEGACY_REVISIONS.includes(protocolVersion);
  const revision = isKnown ? protocolVersion : LATEST_LEGACY_REVISION;
  return {
    paramsText: paramsFor(revision, body, message).subarray(span.start).toString('utf8'),
    capabilities: JSON.stringify(capabilities),
    revision,
    clientName: typeof info.name === 'string' ? info.name.slice(0, 256) : undefined,
    clientVersion: typeof info.version === 'string' ? info.version.slice(0, 64) : undefined,
  };
}

function paramsFor(revision: string, body: Buffer, { spans }: DecodedRequest): Buffer {
  const upToParams = body.subarray(0, spans.params?.end);
  const version = spans['params.protocolVersion'];
  return version ? splice(upToParams, [{ ...version, text: JSON.stringify(revision) }]) : upToParams;
}

/** Applies if complete lists are configured. @throws RequestError while a backend is down or has never answered */
function checkWhole({ config, backends }: Services): void {
  if (config.operational.failure_handling.partial_failure_mode !== 'fail') return;
  const away = backends.all.find(({ health }) => health.phase === 'unknown' || isAway(health));
  if (away) throw callFailure(away.name, 'unavailable', false).error;
}
