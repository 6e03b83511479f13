import { z } from 'zod';
import { urlIsSecure } from '#crds/parts/oidc-config';
import type { RemoteAuth } from '#crds/run-config/outgoing';
import { UpstreamUnavailable } from '#runtime/authserver/upstream/provider';
import { metadataUrls } from '#runtime/incoming/discover-issuer';
import { readChallenge, type Challenge } from './read-challenge.ts';
import type { RemoteHttp } from './remote-http.ts';

const Url = z.url().max(2048);
const Texts = z.array(z.string().max(256)).max(1000).optional();

/** RFC 9728 §2: the members that a client needs. */
const ResourceDocument = z.object({
  resource: Url,
  authorization_servers: z.array(Url).min(1).max(100),
  scopes_supported: Texts,
});

/** RFC 8414 §2: the members that a client needs. */
const ServerDocument = z.object({
  issuer: z.string().max(2048),
  authorization_endpoint: Url,
  token_endpoint: Url,
  registration_endpoint: Url.optional(),
  jwks_uri: Url.optional(),
  scopes_supported: Texts,
  code_challenge_methods_supported: Texts,
  token_endpoint_auth_methods_supported: Texts,
  id_token_signing_alg_values_supported: Texts,
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
type ServerDocument = z.infer<typeof ServerDocument>;

export interface RemoteServer {
  readonly metadata: ServerDocument;
  /** False: no source named the issuer, so it cannot be checked in answers. */
  readonly isIssuerKnown: boolean;
  readonly scopes: readonly string[];
  /** Resource indicator (RFC 8707). */
  readonly resource: string;
}

interface RemoteBackend {
  readonly name: string;
  readonly url: string;
  readonly http: RemoteHttp;
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Order: configuration, challenge (RFC 9728), issuer's metadata (RFC 8414). @throws UpstreamUnavailable whose message names the remedy */
export async function findServer(auth: RemoteAuth, place: RemoteBackend): Promise<RemoteServer> {
  const { issuer, authorize_url: authorizeUrl, token_url: tokenUrl, scopes } = auth;
  const resource = auth.resource ?? place.url;
  if (issuer === undefined && authorizeUrl !== undefined && tokenUrl !== undefined) {
    const metadata = {
      issuer: new URL(tokenUrl).origin,
      authorization_endpoint: authorizeUrl,
      token_endpoint: tokenUrl,
    };
    return { metadata, isIssuerKnown: false, scopes, resource };
  }
  const told = issuer === undefined ? await askServer(place) : { issuer, scopes: undefined, resource };
  const found = await fetchMetadata(told.issuer, place);
  checkPkce(auth, found, place);
  const metadata = {
    ...found,
    ...(authorizeUrl !== undefined && { authorization_endpoint: authorizeUrl }),
    ...(tokenUrl !== undefined && { token_endpoint: tokenUrl }),
  };
  checkPage(metadata.authorization_endpoint, place);
  return {
    metadata,
    isIssuerKnown: true,
    scopes: scopes.length > 0 ? scopes : withRefresh(told.scopes ?? [], found),
    resource: auth.resource ?? told.resource,
  };
}

/** Requests offline access if the server offers it, so that a login outlasts its first access token. */
function withRefresh(scopes: readonly string[], { scopes_supported: supported = [] }: ServerDocument): string[] {
  return [...new Set([...scopes, ...supported.filter((scope) => scope === 'offline_access')])];
}

function checkPkce(
  { use_pkce: wanted }: RemoteAuth,
  { code_challenge_methods_supported: methods }: ServerDocument,
  { name }: RemoteBackend,
) {
  if (!wanted || methods === undefined || methods.includes('S256')) return;
  throw new UpstreamUnavailable(
    `${name}: its authorization server has no PKCE with S256: write usePkce: false to do without`,
  );
}

/** Requires a secure URL: the browser sends a state and a challenge there, which must not be readable in transit. */
function checkPage(url: string, { name }: RemoteBackend): void {
  if (urlIsSecure.holds(url)) return;
  throw new UpstreamUnavailable(`${name}: its authorization endpoint is not https (${new URL(url).protocol})`);
}

interface Told {
  readonly issuer: string;
  readonly scopes: readonly string[] | undefined;
  readonly resource: string;
}

/** Reads the challenge, then the well-known URLs. Servers of MCP 2025-03-26 are themselves the issuer. */
async function askServer(place: RemoteBackend): Promise<Told> {
  const challenge = await fetchChallenge(place);
  for (const url of resourceMetadataUrls(place.url, challenge)) {
    const document = await fetchDocument(url, ResourceDocument, place);
    if (document === undefined) continue;
    checkResource(document.resource, place);
    const [issuer = ''] = document.authorization_servers;
    return { issuer, scopes: challenge?.scopes ?? document.scopes_supported, resource: document.resource };
  }
  return { issuer: new URL(place.url).origin, scopes: challenge?.scopes, resource: place.url };
}

const QUESTION = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'vmcp', version: '1' } },
};

async function fetchChallenge({ name, url, http }: RemoteBackend): Promise<Challenge | undefined> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const { status, headers: said } = await http.call(url, { method: 'POST', headers, body: JSON.stringify(QUESTION) });
  if (status >= 500) throw new UpstreamUnavailable(`${name}: the remote server answered ${status}: try again later`);
  const challenge = said['www-authenticate'];
  return readChallenge(typeof challenge === 'string' ? challenge : undefined);
}

/** RFC 9728 §3.1 inserts the path of the resource; many servers have one document for all paths. */
function resourceMetadataUrls(url: string, challenge: Challenge | undefined): string[] {
  const { origin, pathname } = new URL(url);
  const named = challenge?.resourceMetadata === undefined ? [] : [challenge.resourceMetadata];
  const path = pathname === '/' ? '' : pathname;
  return [...new Set([...named, origin + WELL_KNOWN + path, origin + WELL_KNOWN])];
}

/** Refuses a document about another resource (RFC 9728 §3.3): its tokens would be for that resource. */
function checkResource(resource: string, { name, url }: RemoteBackend): void {
  const [named, own] = [new URL(resource), new URL(url)];
  const path = named.pathname.replace(/\/$/, '');
  const isAbove = own.pathname === path || own.pathname.startsWith(`${path}/`);
  if (named.origin === own.origin && isAbove) return;
  throw new UpstreamUnavailable(
    `${name}: its metadata is of another resource (${named.host}): write remoteAuth.issuer and resource if that is meant`,
  );
}

async function fetchMetadata(issuer: string, place: RemoteBackend): Promise<ServerDocument> {
  for (const url of metadataUrls(issuer)) {
    const document = await fetchDocument(url, ServerDocument, place);
    if (document === undefined) continue;
    // RFC 8414 §3.3. A final slash does not change the issuer.
    if (document.issuer === issuer || document.issuer === `${issuer}/` || `${document.issuer}/` === issuer)
      return document;
    const what = `${place.name}: ${new URL(issuer).host} calls itself another issuer: compare remoteAuth.issuer byte for byte`;
    throw new UpstreamUnavailable(what);
  }
  const host = new URL(issuer).host;
  throw new UpstreamUnavailable(
    `${place.name}: ${host} says nowhere how to log in: write authorizeUrl, tokenUrl and clientId in remoteAuth`,
  );
}

async function fetchDocument<T>(url: string, schema: z.ZodType<T>, { http }: RemoteBackend): Promise<T | undefined> {
  const { status, text } = await http.call(url, { method: 'GET', headers: { accept: 'application/json' } });
  if (status !== 200) return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
