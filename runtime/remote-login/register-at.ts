import { z } from 'zod';
import { isLoopbackHost } from '#crds/parts/private-address';
import { UpstreamUnavailable } from '#runtime/authserver/upstream/provider';
import type { RemoteServer } from './find-server.ts';
import type { RemoteClient } from './registered-client.ts';
import type { RemoteHttp } from './remote-http.ts';

type Method = RemoteClient['token_endpoint_auth_method'];

/** RFC 7591 §3.2.1: the members that vmcp needs. */
const Registered = z.object({
  client_id: z.string().min(1).max(2048),
  client_secret: z.string().max(8192).optional(),
  client_secret_expires_at: z.number().optional(),
  token_endpoint_auth_method: z.string().optional(),
});

const METHODS: readonly Method[] = ['none', 'client_secret_basic', 'client_secret_post'];

/** Returns how a client authenticates at this server. RFC 8414 §2: Basic if the server does not say. */
export function authMethodOf({ metadata }: RemoteServer, hasSecret: boolean): Method {
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const fits = METHODS.filter((method) => (method === 'none') !== hasSecret);
  return fits.find((method) => supported.includes(method)) ?? fits[0] ?? 'none';
}

interface Registration {
  readonly name: string;
  readonly redirectUri: string;
  readonly http: RemoteHttp;
}

/** Registers vmcp at an authorization server. @throws UpstreamUnavailable whose message names the remedy */
export async function registerAt(
  server: RemoteServer,
  { name, redirectUri, http }: Registration,
): Promise<RemoteClient> {
  const { metadata, scopes } = server;
  const remedy = `register a client there with the redirect URI ${redirectUri}, and write its clientId in remoteAuth`;
  const fail = (what: string): never => {
    throw new UpstreamUnavailable(`${name}: ${new URL(metadata.issuer).host} ${what}: ${remedy}`, { answered: true });
  };
  if (metadata.registration_endpoint === undefined) return fail('takes no registrations');
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const wanted = METHODS.find((method) => supported.includes(method)) ?? 'none';
  const body = JSON.stringify({
    client_name: 'vmcp',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: wanted,
    application_type: isLoopbackHost(new URL(redirectUri).hostname) ? 'native' : 'web',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  });
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const answer = await http.call(metadata.registration_endpoint, { method: 'POST', headers, body });
  if (answer.status !== 200 && answer.status !== 201) return fail(`refused the registration (${answer.status})`);
  const client = readClient(answer.text, wanted);
  if (client === undefined) return fail('answered the registration with what is no client');
  return { ...client, issuer: metadata.issuer, registered: { redirect_uri: redirectUri, is_doubtful: true } };
}

function readClient(text: string, wanted: Method): Omit<RemoteClient, 'issuer'> | undefined {
  const { data } = Registered.safeParse(parsed(text));
  if (!data) return undefined;
  const { client_id, client_secret, client_secret_expires_at: ends = 0, token_endpoint_auth_method: said } = data;
  const method = METHODS.find((one) => one === said) ?? wanted;
  if (method !== 'none' && client_secret === undefined) return undefined;
  return {
    client_id,
    token_endpoint_auth_method: method,
    ...(method !== 'none' && { client_secret }),
    // RFC 7591 §3.2.1: 0 means that it never expires.
    ...(ends > 0 && { secret_ends_at: ends * 1000 }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
