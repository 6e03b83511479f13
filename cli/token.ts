import { z } from 'zod';
import { resourceUrlOf, specForOneMachine, VirtualMCPServerSpec } from '#crds/kinds/index';
import { isLoopbackHost } from '#crds/parts/private-address';
import { listManifestFiles, readFolderContent, type FolderContent } from '#local/manifest-folder';
import type { Manifest } from '#operator/snapshot';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { runningStatus } from './find-local-status.ts';
import { chooseServer } from './status.ts';

/** The OAuth client that `vmcp token` uses. */
export const CLIENT_ANNOTATION = 'vmcp.dev/development-client';
/** The Secret with user names and passwords of a development identity provider. */
export const USERS_ANNOTATION = 'vmcp.dev/development-users';

const DEADLINE = 5000;
const Discovery = z.object({ token_endpoint: z.url() });
const TokenAnswer = z.object({ access_token: z.string().min(1) });
const Refusal = z.object({ error: z.string(), error_description: z.string().optional() });

interface Login {
  issuer: string;
  client: string;
  password: string;
  resource: string;
}

type Typed = Pick<Context, 'typed'>;

function fail(message: string): never {
  throw new CliError(EXIT_CODES.failed, message);
}

function isLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

function specOf({ metadata: { name }, spec }: Manifest, { typed }: Typed): z.output<typeof VirtualMCPServerSpec> {
  const { data } = VirtualMCPServerSpec.safeParse(specForOneMachine(spec));
  return data ?? fail(`VirtualMCPServer "${name}" is not valid as it is written now: "${typed('status')}" says why`);
}

function annotated(manifest: Manifest, annotation: string, { typed }: Typed): string {
  const { name, annotations = {} } = manifest.metadata;
  return (
    annotations[annotation] ??
    fail(
      `VirtualMCPServer "${name}" has no annotation ${annotation}: vmcp token works with identity providers of examples and ` +
        `tests only, which it names; otherwise log in by your client, or by "${typed('try')}"`,
    )
  );
}

function passwordOf(user: string, manifest: Manifest, folderContent: FolderContent, context: Typed): string {
  const { namespace } = manifest.metadata;
  const secret = annotated(manifest, USERS_ANNOTATION, context);
  const users =
    folderContent.secrets.get(`${namespace}/${secret}`) ?? fail(`there is no Secret "${secret}" with the users`);
  const password = Object.hasOwn(users, user) ? users[user] : undefined;
  if (password !== undefined) return password;
  const known = Object.keys(users).join(', ');
  throw new CliError(EXIT_CODES.notFound, `Secret "${secret}" has no user "${user}" (it has: ${known})`);
}

/** The identity provider must be on this machine. */
export function loginOf(
  user: string,
  manifest: Manifest,
  folderContent: FolderContent,
  endpoint: string,
  context: Typed,
): Login {
  const { incomingAuth } = specOf(manifest, context);
  const shared = folderContent.manifests.find(
    ({ kind, metadata }) => kind === 'MCPOIDCConfig' && metadata.name === incomingAuth.oidcConfigRef?.name,
  );
  const inline = z
    .object({ inline: z.object({ issuer: z.url() }) })
    .safeParse(incomingAuth.oidcConfig ?? shared?.spec).data;
  const issuer = inline?.inline.issuer ?? fail(`VirtualMCPServer "${manifest.metadata.name}" has no issuer of its own`);
  if (!isLoopback(issuer)) fail(`${issuer} is not on this machine: passwords are sent to loopback addresses only`);
  const resource = incomingAuth.oidcConfigRef?.audience ?? incomingAuth.oidcConfig?.inline?.audience;
  return {
    issuer,
    password: passwordOf(user, manifest, folderContent, context),
    client: annotated(manifest, CLIENT_ANNOTATION, context),
    resource: resource ?? resourceUrlOf(incomingAuth) ?? endpoint,
  };
}

async function ask(url: string, options: RequestInit = {}): Promise<unknown> {
  try {
    const answer = await fetch(url, { ...options, redirect: 'error', signal: AbortSignal.timeout(DEADLINE) });
    return await answer.json();
  } catch (cause) {
    throw new CliError(EXIT_CODES.notRunning, `the identity provider does not answer at ${url}: start it`, { cause });
  }
}

/** Follows RFC 6749 §4.3, audience by RFC 8707. @throws CliError */
export async function fetchDevelopmentToken(
  user: string,
  { issuer, client, password, resource }: Login,
): Promise<string> {
  const discovered = Discovery.safeParse(await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`));
  const endpoint = discovered.data?.token_endpoint ?? fail(`${issuer} describes no token endpoint`);
  if (!isLoopback(endpoint)) fail(`${endpoint} is not on this machine: passwords are sent to loopback addresses only`);
  const scope = 'openid profile email mcp';
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: client,
    username: user,
    password,
    resource,
    scope,
  });
  const answer = await ask(endpoint, { method: 'POST', body });
  const token = TokenAnswer.safeParse(answer).data?.access_token;
  if (token !== undefined) return token;
  const refusal = Refusal.safeParse(answer).data;
  return fail(`the identity provider refuses: ${refusal?.error_description ?? refusal?.error ?? 'it gave no token'}`);
}

/** Prints nothing but the token. */
export async function token(user: string, server: string | undefined, context: Context): Promise<number> {
  const localStatus = runningStatus(context);
  const { kind: chosen, name, namespace, endpoint } = chooseServer(localStatus, server);
  if (chosen === 'MCPServer') {
    fail(`MCPServer "${name}" is served by itself, and vmcp token works with VirtualMCPServers: log in by vmcp try`);
  }
  if (endpoint === null) throw new CliError(EXIT_CODES.notRunning, `VirtualMCPServer "${name}" has no endpoint yet`);
  const folderContent = readFolderContent(listManifestFiles(localStatus.folder));
  const manifest =
    folderContent.manifests.find(
      ({ kind, metadata }) => kind === 'VirtualMCPServer' && metadata.name === name && metadata.namespace === namespace,
    ) ?? fail(`VirtualMCPServer "${name}" is no longer in ${localStatus.folder}`);
  context.out.write(`${await tokenFor(user, manifest, folderContent, endpoint, context)}\n`);
  return EXIT_CODES.ok;
}

/** An own authorization server requires an MCP client (loaded on demand); otherwise the issuer's password grant applies. */
async function tokenFor(
  user: string,
  manifest: Manifest,
  folderContent: FolderContent,
  endpoint: string,
  context: Context,
): Promise<string> {
  const { authServerConfig } = specOf(manifest, context);
  if (!authServerConfig) return fetchDevelopmentToken(user, loginOf(user, manifest, folderContent, endpoint, context));
  const { logIn } = await import('./development-login/log-in.ts');
  return logIn(endpoint, { name: user, password: passwordOf(user, manifest, folderContent, context) }, context);
}
