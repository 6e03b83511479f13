import type { RemoteAuth } from './outgoing.ts';

/** The settings that determine the recipients and the issuer of a remote login's tokens. */
export type RemoteLogin = Partial<
  Pick<RemoteAuth, 'issuer' | 'authorize_url' | 'token_url' | 'client_id' | 'resource'>
> & {
  url: string;
};

/** Names of the stored records of a remote login. A change of any setting gives other names, so the former records are not found. */
export interface RemoteRecords {
  tokens: string;
  client: string;
  /** The record of the client that received the tokens. */
  holder: string;
}

/** @param sha256 in hex */
export function nameRemoteRecords(login: RemoteLogin, sha256: (text: string) => string): RemoteRecords {
  const { url, resource, issuer, authorize_url, token_url, client_id } = login;
  const about = [url, resource, issuer, authorize_url, token_url, client_id];
  const tokens = `remote-${sha256(JSON.stringify(about.map((one) => one ?? null))).slice(0, 32)}`;
  return { tokens, client: `${tokens}-client`, holder: `${tokens}-holder` };
}
