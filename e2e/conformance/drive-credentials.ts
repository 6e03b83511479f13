import type { RunConfigDocument } from '#crds/run-config/run-config';
import { arrange } from '../authserver/arrangement.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';

type BackendDocument = RunConfigDocument['backends'][number];
type Context = Readonly<Record<string, string>>;

/** The authorization server that a backend's metadata names. */
interface Server {
  readonly issuer: string;
  readonly tokenUrl: string;
}

/** Uses the gateway at a URL, with these headers. */
type Use = (url: string, headers: Record<string, string>) => Promise<void>;
type Drive = (backendUrl: string, context: Context, use: Use) => Promise<void>;

async function read<T>(url: URL): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.href}: ${response.status}`);
  return (await response.json()) as T;
}

/** Follows the challenge, as RFC 9728 and RFC 8414 say. */
async function findServer(backendUrl: string): Promise<Server> {
  const refused = await fetch(backendUrl, { method: 'POST' });
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const { authorization_servers: servers } = await read<{ authorization_servers: string[] }>(new URL(metadata));
  const issuer = new URL(servers[0] ?? '');
  const path = `/.well-known/oauth-authorization-server${issuer.pathname.replace(/\/$/, '')}`;
  const document = await read<{ issuer: string; token_endpoint: string }>(new URL(path, issuer));
  return { issuer: document.issuer, tokenUrl: document.token_endpoint };
}

function backendAt(url: string, auth: BackendDocument['auth']): BackendDocument {
  return { name: 'suite', transport: 'streamable-http', url, auth };
}

const ALONE = { conflict_resolution: 'prefix', prefix_format: '' } as const;

/** Drives a gateway that uses its own client at the suite's server. */
async function driveClient(backendUrl: string, context: Context, use: Use): Promise<void> {
  const { issuer, tokenUrl } = await findServer(backendUrl);
  const { client_id = '', client_secret: secret, private_key_pem: key } = context;
  const auth = {
    ...{ type: 'client_credentials' as const, token_url: tokenUrl, client_id },
    ...(secret === undefined ? { private_key_file: 'credential', issuer } : { client_secret_file: 'credential' }),
  };
  const gateway = await serveGateway(
    { incoming: { type: 'anonymous' }, aggregation: ALONE, backends: [backendAt(backendUrl, auth)] },
    { files: { credential: secret ?? key ?? '' } },
  );
  await use(gateway.url, {}).finally(() => gateway.close());
}

/** Drives a gateway whose user has logged in at a provider that issued the suite's ID token. */
async function driveEnterprise(backendUrl: string, context: Context, use: Use): Promise<void> {
  const { issuer, tokenUrl } = await findServer(backendUrl);
  const { client_id = '', client_secret = '', idp_client_id = '', idp_token_endpoint = '', idp_id_token } = context;
  const auth = {
    type: 'xaa' as const,
    idp_token_url: idp_token_endpoint,
    idp_client_id,
    target_token_url: tokenUrl,
    target_client_id: client_id,
    target_client_secret_file: 'credential',
    target_audience: issuer,
    target_resource: backendUrl,
    subject_provider_name: 'company',
  };
  const setup = await arrange({
    providers: [{ name: 'company', kind: 'odd', options: { members: { id_token: idp_id_token } } }],
    files: { credential: client_secret },
    config: { aggregation: ALONE, backends: [backendAt(backendUrl, auth)] },
  });
  try {
    const { access_token: token } = await (await setup.client()).login({ user: 'alice' });
    await use(setup.resource, { authorization: `Bearer ${token}` });
  } finally {
    await setup.close();
  }
}

/** Scenarios of extensions, which no requirement set contains. */
export const OF_CREDENTIALS: Readonly<Record<string, Drive>> = {
  'auth/client-credentials-basic': driveClient,
  'auth/client-credentials-jwt': driveClient,
  'auth/enterprise-managed-authorization': driveEnterprise,
};
