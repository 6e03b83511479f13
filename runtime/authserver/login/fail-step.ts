import { auditSubjects } from '../audit-subjects.ts';
import { answerClient } from '../authorize/answer-client.ts';
import type { OAuthErrorCode } from '../errors.ts';
import type { Answer } from '../handler.ts';
import { PageError } from '../page-error.ts';
import type { LoginRow } from '../storage/rows.ts';
import { UpstreamRefused, type UpstreamUnavailable } from '../upstream/provider.ts';
import type { ChainSettings } from './chain-settings.ts';

type StepError = UpstreamRefused | UpstreamUnavailable;
type Reason = 'denied' | 'unavailable' | 'failed';

const TO_CLIENT: Readonly<Record<Reason, readonly [OAuthErrorCode, string]>> = {
  denied: ['access_denied', 'The user did not sign in at a provider that is required'],
  unavailable: ['temporarily_unavailable', 'A provider that is required cannot be reached; try again later'],
  failed: ['server_error', 'The sign-in at a provider that is required failed'],
};
const TO_PERSON: Readonly<Record<Reason, readonly [status: number, happened: string]>> = {
  denied: [403, 'The provider says that you did not agree.'],
  unavailable: [503, 'The provider cannot be reached at the moment.'],
  failed: [502, 'The provider did not answer as it should.'],
};

/** The row is already removed. Undefined: skips an optional provider. Clients get fixed text, linking users a page. @throws PageError */
export function failStep(settings: ChainSettings, login: LoginRow, name: string, error: StepError): Answer | undefined {
  const { urls, chain, log } = settings;
  const reason = reasonOf(error);
  const required = chain.providers.some((provider) => provider.name === name && provider.required);
  note(settings, login, name, reason);
  if (reason !== 'denied') log.warn('a login step failed', { provider: name, reason: error.message });
  if (login.purpose === 'authorize' && !required) return undefined;
  if (login.request) {
    const [code, description] = TO_CLIENT[reason];
    return answerClient(login.request, urls.issuer, { error: code, error_description: description });
  }
  const [status, happened] = TO_PERSON[reason];
  const text = `${happened} Nothing was changed. Try again from your connections: ${urls.connections}`;
  throw new PageError({ status, title: `${name} was not linked`, text });
}

function reasonOf(error: StepError): Reason {
  if (error instanceof UpstreamRefused) return error.denied ? 'denied' : 'failed';
  return error.answered ? 'failed' : 'unavailable';
}

function note({ record }: ChainSettings, { user, request }: LoginRow, provider: string, reason: Reason): void {
  record({
    type: 'auth_login_failed',
    outcome: reason === 'denied' ? 'denied' : 'error',
    subjects: auditSubjects(user),
    target: { type: 'upstream_provider', name: provider },
    details: { reason, ...(request && { client_id: request.client_id }) },
  });
}
