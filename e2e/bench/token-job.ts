import { ID_PLACEHOLDER, type LoadClient } from './load-job.ts';

/** Grants that were made beforehand, in order, for each connection. */
export interface Prepared {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly all: readonly (readonly string[])[];
}

/** PKCE: the verifier of all codes. */
export const CODE_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';

export type Grant = 'refresh_token' | 'authorization_code';

/** Returns the requests of each connection: each grant once. */
export function tokenClients(grant: Grant, { clientId, redirectUri, all }: Prepared): LoadClient[] {
  const rest: Record<string, string> =
    grant === 'refresh_token' ? {} : { redirect_uri: redirectUri, code_verifier: CODE_VERIFIER };
  const name = grant === 'refresh_token' ? 'refresh_token' : 'code';
  const body = (value: string) =>
    new URLSearchParams({
      grant_type: grant,
      client_id: clientId,
      [name]: value,
      ...rest,
      n: String(ID_PLACEHOLDER),
    }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return all.map((grants) => ({ headers, bodies: grants.map(body) }));
}
