import type { Dispatcher } from 'undici';
import { awsError, type AwsErrorCode } from './aws-error.ts';
import { type FormAnswer, postForm } from './post-form.ts';

const VERSION = '2011-06-15';
const MAX_ANSWER = 64 * 1024;
/** Temporary STS errors: a retry may succeed. */
const PASSING = new Set(['IDPCommunicationError', 'ServiceUnavailable', 'Throttling', 'ThrottlingException']);

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface RoleRequest {
  readonly backend: string;
  readonly endpoint: string;
  readonly role: string;
  readonly sessionName: string;
  readonly webIdentity: string;
  /** Seconds. */
  readonly duration: number;
  readonly dispatcher: Dispatcher;
  /** Milliseconds for the whole answer. */
  readonly deadline: number;
  readonly now: () => number;
}

/** Sends the caller's token and no signature to AWS STS. @throws RequestError whose cause names the problem, without tokens */
export async function assumeRole(request: RoleRequest): Promise<AwsCredentials> {
  const { backend, dispatcher, deadline } = request;
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: VERSION,
    RoleArn: request.role,
    RoleSessionName: request.sessionName,
    WebIdentityToken: request.webIdentity,
    DurationSeconds: String(request.duration),
  });
  let answer: FormAnswer;
  try {
    const headers = { accept: 'text/xml' };
    answer = await postForm(request.endpoint, form, { dispatcher, headers, deadline, maxBytes: MAX_ANSWER });
  } catch (cause) {
    throw awsError('aws_sts_unavailable', backend, cause);
  }
  if (answer.status !== 200) throw refusal(answer, backend);
  return readCredentials(answer.body, request);
}

function readCredentials(xml: string, { backend, now }: RoleRequest): AwsCredentials {
  const credentials = {
    accessKeyId: textOf(xml, 'AccessKeyId'),
    secretAccessKey: textOf(xml, 'SecretAccessKey'),
    sessionToken: textOf(xml, 'SessionToken'),
    expiresAt: Date.parse(textOf(xml, 'Expiration')),
  };
  const isUsable =
    /^\w{16,128}$/.test(credentials.accessKeyId) &&
    /^[A-Za-z0-9/+=]{1,256}$/.test(credentials.secretAccessKey) &&
    /^[A-Za-z0-9/+=_-]{1,8192}$/.test(credentials.sessionToken) &&
    credentials.expiresAt > now();
  if (!isUsable) throw awsError('aws_sts_invalid', backend, new Error('the answer holds no credentials that serve'));
  return credentials;
}

/** The answer's elements contain no attributes and no nested markup. */
function textOf(xml: string, element: string): string {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1]?.trim() ?? '';
}

function refusal({ status, body }: FormAnswer, backend: string) {
  const code = textOf(body, 'Code').slice(0, 64);
  return awsError(codeOf(status, code), backend, new Error(`status ${status}: ${code || 'no error code'}`));
}

function codeOf(status: number, code: string): AwsErrorCode {
  if (status >= 500 || status === 429 || PASSING.has(code)) return 'aws_sts_unavailable';
  return status >= 400 && code !== '' ? 'aws_sts_refused' : 'aws_sts_invalid';
}
