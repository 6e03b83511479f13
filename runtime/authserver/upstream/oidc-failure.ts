import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { UpstreamRefused, UpstreamUnavailable } from './provider.ts';
import { type Endpoint, errorOfEndpoint, errorOfStep, isServerFault } from './upstream-errors.ts';

/** Converts an error of openid-client. The original is not kept as the cause, because it contains the request and the answer. */
export function asUpstreamError(
  name: string,
  step: 'discovery' | 'authorization' | Endpoint,
  error: unknown,
): UpstreamRefused | UpstreamUnavailable {
  if (error instanceof UpstreamRefused || error instanceof UpstreamUnavailable) return error;
  if (error instanceof AuthorizationResponseError) return errorOfStep(name, error.error);
  const causes = causesOf(error);
  // The library wraps the errors of its fetch.
  const own = causes.find((cause) => cause instanceof UpstreamUnavailable);
  if (own) return own;
  const answer = answerOf(error, causes);
  if (answer && (step === 'token' || step === 'user-info')) return errorOfEndpoint(name, step, answer);
  const answered = answer === undefined || !isServerFault(answer.status);
  return new UpstreamUnavailable(`${name}: ${step} failed: ${reasonOf(error, causes)}`, { answered });
}

function answerOf(error: unknown, causes: readonly unknown[]) {
  if (error instanceof ResponseBodyError) return { error: error.error, status: error.status };
  if (error instanceof WWWAuthenticateChallengeError) return { error: challengeOf(error), status: error.status };
  const response = causes.find((cause) => cause instanceof Response);
  return response === undefined || response.ok ? undefined : { error: undefined, status: response.status };
}

/** RFC 6750 §3.1: `invalid_token` means an expired or revoked token, which adds nothing to the status. */
function challengeOf({ cause }: WWWAuthenticateChallengeError): string | undefined {
  const error = cause.map(({ parameters }) => parameters.error).find((word) => word !== undefined);
  return error === 'invalid_token' ? undefined : error;
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 4;) {
    cause = cause.cause;
    causes.push(cause);
  }
  return causes;
}

function reasonOf(error: unknown, causes: readonly unknown[]): string {
  if (!(error instanceof ClientError)) return error instanceof TypeError ? 'TypeError' : 'unknown error';
  const { claim, attribute } = (causes.at(-1) ?? {}) as { claim?: unknown; attribute?: unknown };
  return [error.code, claim, attribute].filter((word) => typeof word === 'string').join(' ');
}
