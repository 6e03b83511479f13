import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import type { ClientRequest } from '../client-request.ts';
import type { Era } from '../era.ts';
import type { Backend } from '../backends/backend.ts';
import type { CallFailure } from '../backends/failures.ts';
import { bridgeFor } from '../backends/health.ts';

/** MCP 2026-07-28: UnsupportedProtocolVersionError. */
const UNSUPPORTED_VERSION = /"code":\s*-32022\b/;

/** Whether the backend refused the request because of its revision, so that it acted on nothing. */
export function refusesRevision(status: number, body: Buffer, kind: AnswerKind): boolean {
  return status === 400 && kind === 'error' && UNSUPPORTED_VERSION.test(body.toString('latin1'));
}

/** A legacy server refuses a request without a session, and so each request of 2026-07-28, with 400. */
export function mayRefuseRevision({ reason, status }: CallFailure): boolean {
  return reason === 'protocol' && status === 400;
}

interface AfterProbe {
  /** Whether the call has ended meanwhile. Then nothing runs. */
  readonly isOver: () => boolean;
  /** Calls of this era need another bridge than before. */
  readonly changed: () => void;
  readonly same: () => void;
}

/** Asks the backend what it speaks now. */
export function probeEra(
  { name, health }: Backend,
  era: Era,
  { requestRecord, services }: ClientRequest,
  { isOver, changed, same }: AfterProbe,
): void {
  const { bridge, startedAt } = requestRecord;
  const probed = services.backends.watch(name)?.probedSince(startedAt) ?? Promise.resolve();
  void probed.then(() => {
    if (isOver()) return;
    if (bridgeFor(health, era) === bridge) same();
    else changed();
  });
}
