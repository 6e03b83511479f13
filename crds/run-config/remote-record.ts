import type { RemoteAuth } from './outgoing.ts';

/** All that decides to whom the tokens of a login at a remote server are sent, and from whom they come. */
export type RemoteLogin = Partial<
  Pick<RemoteAuth, 'issuer' | 'authorize_url' | 'token_url' | 'client_id' | 'resource'>
> & {
  /** URL of the remote server. */
  url: string;
};

/** Names of the records that are kept of such a login. After a change of any of it nobody finds the former ones. */
export interface RemoteRecords {
  tokens: string;
  /** As what vmcp is registered. */
  client: string;
  /** To which client the tokens were given. */
  holder: string;
}

/** @param sha256 in hex */
export function nameRemoteRecords(login: RemoteLogin, sha256: (text: string) => string): RemoteRecords {
  const { url, resource, issuer, authorize_url, token_url, client_id } = login;
  const about = [url, resource, issuer, authorize_url, token_url, client_id];
  const tokens = `remote-${sha256(JSON.stringify(about.map((one) => one ?? null))).slice(0, 32)}`;
  return { tokens, client: `${tokens}-client`, holder: `${tokens}-holder` };
}
