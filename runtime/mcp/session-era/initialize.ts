import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import { answerJson } from '#runtime/http/answer-json';
import type { Rooms } from '#runtime/rooms';
import type { Trail } from '#runtime/trail';
import { NoAnswer } from '../backends/ask.ts';
import type { Backend } from '../backends/backend.ts';
import { callFailure } from '../backends/failures.ts';
import { type BackendHealth, isAway, serves } from '../backends/health.ts';
import { neededLogin } from '../backends/login-needed.ts';
import { isJsonObject, type DecodedRequest } from '../envelope/decode-request.ts';
import { splice } from '../envelope/splice.ts';
import { LATEST_SESSION_REVISION, SESSION_REVISIONS } from '../era.ts';
import { invalidParams } from '../route/refusals.ts';
import { ASSUMED, mergeCapabilities, mergeInstructions } from '../sessions/capabilities.ts';
import { endLegs } from '../sessions/end-legs.ts';
import { ensureLeg } from '../sessions/open-leg.ts';
import { countedFor } from '../sessions/session-limits.ts';
import type { ClientProfile, Session } from '../sessions/session.ts';

const MAX_PARAMS_BYTES = 65_536;

/**
 * Opens a client session: with the client's own initialize at every backend that can be reached in time. What is dead is
 * left out and joins when it is back.
 */
export async function initialize(
  res: ServerResponse,
  body: Buffer,
  message: DecodedRequest,
  identity: Identity,
  rooms: Rooms,
  trail: Trail,
): Promise<void> {
  const profile = readProfile(body, message);
  trail.clientName = profile.clientName;
  trail.clientVersion = profile.clientVersion;
  trail.revision = profile.revision;
  const owner = { principal: identity.key, countedFor: countedFor(identity, trail.req, rooms) };
  const session = rooms.sessions.create(owner, profile);
  try {
    await openLegs(session, identity, rooms);
    await rooms.sessions.opened(session, identity);
  } catch (error) {
    rooms.sessions.forget(session);
    endLegs(session, identity, rooms.backends);
    throw error;
  }
  trail.session = session.id;
  const result = {
    protocolVersion: profile.revision,
    capabilities: mergeCapabilities(knownCapabilities(rooms)),
    serverInfo: { name: rooms.config.server.name, version: rooms.version },
    instructions: mergeInstructions(
      session.legs.map((leg) => ({ backend: leg.backend, instructions: leg.capabilities.instructions })),
    ),
  };
  answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${JSON.stringify(result)}}`, {
    'mcp-session-id': session.id,
  });
}

/** Also of backends that are away now: they may come back within the session. */
function knownCapabilities(rooms: Rooms) {
  return rooms.backends.all
    .filter(({ health }) => health.eras?.has('session') ?? true)
    .flatMap(({ health, credential }) => health.capabilities ?? (credential.login ? [ASSUMED] : []));
}

function readProfile(body: Buffer, message: DecodedRequest): ClientProfile {
  const { params, spans } = message;
  const span = spans.params;
  if (!params || !span) throw invalidParams('initialize needs params');
  const { protocolVersion, capabilities, clientInfo } = params;
  if (typeof protocolVersion !== 'string') throw invalidParams('initialize needs params.protocolVersion');
  if (!isJsonObject(capabilities)) throw invalidParams('initialize needs params.capabilities');
  // It is kept for as long as the session lives.
  if (span.end - span.start > MAX_PARAMS_BYTES) throw invalidParams('the params of initialize are too large');
  const info = isJsonObject(clientInfo) ? clientInfo : {};
  const isKnown = SESSION_REVISIONS.includes(protocolVersion);
  const revision = isKnown ? protocolVersion : LATEST_SESSION_REVISION;
  return {
    paramsText: paramsFor(revision, body, message).subarray(span.start).toString('utf8'),
    capabilities: JSON.stringify(capabilities),
    revision,
    clientName: typeof info.name === 'string' ? info.name.slice(0, 256) : undefined,
    clientVersion: typeof info.version === 'string' ? info.version.slice(0, 64) : undefined,
  };
}

/** The bytes up to the end of the params, with the revision that was agreed. */
function paramsFor(revision: string, body: Buffer, { spans }: DecodedRequest): Buffer {
  const upToParams = body.subarray(0, spans.params?.end);
  const version = spans['params.protocolVersion'];
  return version ? splice(upToParams, [{ ...version, text: JSON.stringify(revision) }]) : upToParams;
}

async function openLegs(session: Session, identity: Identity, rooms: Rooms): Promise<void> {
  const isWhole = rooms.config.operational.failure_handling.partial_failure_mode === 'fail';
  // Of one that was not asked yet nobody knows what it has, and a client is not told again.
  const isMissing = (health: BackendHealth) => health.phase === 'unknown' || isAway(health, 'session');
  const away = isWhole ? rooms.backends.all.find(({ health }) => isMissing(health)) : undefined;
  if (away) throw callFailure(away.name, 'unavailable', false).error;
  const asked = rooms.backends.all.filter(({ health }) => serves(health, 'session'));
  const opened = await Promise.all(asked.map((backend) => openLeg(session, backend, identity, rooms)));
  const failed = isWhole ? opened.find((one) => one !== undefined) : undefined;
  if (failed) throw failed.failure.error;
}

async function openLeg(
  session: Session,
  backend: Backend,
  identity: Identity,
  rooms: Rooms,
): Promise<NoAnswer | undefined> {
  try {
    await ensureLeg(session, backend, identity, rooms);
    return undefined;
  } catch (error) {
    // A login that its user has not made yet is no failure: the backend joins when it is done.
    if (neededLogin(error) !== undefined) return undefined;
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}
