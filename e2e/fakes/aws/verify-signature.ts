import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The part of the STS credentials that a service knows. */
export interface IssuedCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8}\/[^/]+\/[^/]+\/aws4_request), SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/;

/**
 * Verifies the signature of a received request with these credentials, as an AWS service does (Signature Version 4).
 * @returns the reason of a failure, or undefined
 */
export function whyNotSigned(
  request: IncomingMessage,
  body: string,
  { accessKeyId, secretAccessKey, sessionToken }: IssuedCredentials,
): string | undefined {
  const { headers } = request;
  const [, key, scope = '', signed = '', signature] = AUTHORIZATION.exec(headers.authorization ?? '') ?? [];
  if (key !== accessKeyId) return 'another access key';
  if (headers['x-amz-security-token'] !== sessionToken) return 'another session token';
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'another body';
  const missing = NEEDED.find((name) => !signed.split(';').includes(name));
  if (missing !== undefined) return `no ${missing}`;
  const text = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha256(canonical(request, body, signed))];
  const signingKey = scope
    .split('/')
    .reduce<string | Buffer>((last, part) => hmac(last, part), `AWS4${secretAccessKey}`);
  return signature === hmac(signingKey, text.join('\n')).toString('hex') ? undefined : 'another signature';
}

const NEEDED = ['host', 'x-amz-date', 'x-amz-security-token'];

function canonical({ method = '', url = '', headers }: IncomingMessage, body: string, signed: string): string {
  const [path = '', query = ''] = url.split('?');
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name] ?? '')}`);
  return [method, path, query.split('&').sort().join('&'), ...lines, '', signed, sha256(body)].join('\n');
}
