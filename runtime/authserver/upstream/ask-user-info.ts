import type { Upstream } from '#crds/run-config/auth-server';
import { readDocument, type Document } from './token-answer.ts';
import type { IdentityFields } from './read-identity.ts';
import type { UpstreamHttp } from './upstream-http.ts';

export type UserInfo = NonNullable<Extract<Upstream, { type: 'oauth2' }>['oauth2_config']['userinfo']>;

const USUAL: IdentityFields = {
  subject: ['sub', 'id'],
  name: ['name', 'login', 'preferred_username', 'username'],
  email: ['email'],
};

/** Requests the user-info of an access token. @throws UpstreamRefused when the token is rejected @throws UpstreamUnavailable */
export async function askUserInfo(
  name: string,
  { endpoint_url: url, http_method: method, additional_headers: additional }: UserInfo,
  accessToken: string,
  http: UpstreamHttp,
): Promise<Document> {
  const headers = { ...lowerCased(additional), authorization: `Bearer ${accessToken}` };
  const answer = await http.call(url, { method, headers: { accept: 'application/json', ...headers } });
  return readDocument(name, 'user-info', answer);
}

export function identityFields(mapping: UserInfo['field_mapping']): IdentityFields {
  return {
    subject: mapping?.subject_fields ?? USUAL.subject,
    name: mapping?.name_fields ?? USUAL.name,
    email: mapping?.email_fields ?? USUAL.email,
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
