import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { arrange } from '../authserver/arrangement.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import type { IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { startGateway, type Gateway, type GatewayConfig, type GatewayOptions } from '../gateway/start-gateway.ts';
import { startProgram, type Program } from '../gateway/start-program.ts';
import { CLIENT_CORE, SERVER_CORE } from './load.ts';
import { listTools, openSession } from './mcp-client.ts';
import { BENCH_POLICIES } from './policies.ts';

const HERE = import.meta.dirname;
const START_MS = 15_000;

/** A server under test. */
export interface Target {
  name: string;
  url: string;
  port: number;
  pid: number;
  tokens?: string[];
  stop: () => Promise<void>;
}

/** A set of backends in one process. */
export interface Backends {
  pid: number;
  urls: string[];
  stop: () => Promise<void>;
}

async function run(
  core: string[],
  file: string,
  args: string[],
): Promise<{ program: Program; said: Record<string, unknown> }> {
  const [command = '', ...prefix] = core;
  const node = prefix.includes(process.execPath) ? [] : [process.execPath];
  const program = startProgram(command, [...prefix, ...node, join(HERE, file), ...args]);
  return { program, said: await program.firstJson(START_MS) };
}

/** Starts plain backends with `tools` tools each. */
export async function startBackends(
  count: number,
  tools: number,
  core = CLIENT_CORE,
  more: readonly string[] = [],
): Promise<Backends> {
  const args = ['--count', String(count), '--tools', String(tools), ...more];
  const { program, said } = await run(core, '../fakes/backend/main.ts', args);
  return { pid: program.pid, urls: said.urls as string[], stop: () => program.stop() };
}

/** Starts a backend that is itself the server under test. */
export async function startDirect(tools: number): Promise<Target> {
  const { pid, urls, stop } = await startBackends(1, tools, SERVER_CORE);
  const url = urls[0] ?? '';
  return { name: 'direct', url, port: Number(new URL(url).port), pid, stop };
}

/** Starts the bare reverse proxy in front of one backend. */
export async function startBareProxy(backend: string): Promise<Target> {
  const { program, said } = await run(SERVER_CORE, 'bare-proxy.ts', [new URL(backend).origin]);
  const port = Number(said.port);
  return {
    name: 'bare proxy',
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    pid: program.pid,
    stop: () => program.stop(),
  };
}

const LIMITS: NonNullable<GatewayConfig['limits']> = {
  sessions_per_principal: 1_000_000,
  sessions_per_replica: 1_000_000,
  list_deadline: '30s',
};

const backendNames = (urls: string[]): GatewayConfig['backends'] =>
  urls.map((url, index) => ({ name: `b${index}`, transport: 'streamable-http', url }));

const asTarget = (name: string, gateway: Gateway, tokens?: string[]): Target & Pick<Gateway, 'privateUrl'> => ({
  name,
  url: gateway.url,
  port: Number(new URL(gateway.url).port),
  pid: gateway.pid,
  privateUrl: gateway.privateUrl,
  ...(tokens ? { tokens } : {}),
  stop: () => gateway.stop(),
});

/** Starts the gateway without authentication, pinned to the server's core. */
export function startAnonymousGateway(urls: string[], options: GatewayOptions = {}): Promise<Gateway> {
  const config: GatewayConfig = { incoming: { type: 'anonymous' }, backends: backendNames(urls), limits: LIMITS };
  return startGateway(config, { prefix: SERVER_CORE, ...options });
}

export async function startAnonymous(urls: string[]): Promise<Target> {
  return asTarget('vmcp anonymous', await startAnonymousGateway(urls));
}

function incomingOf(identity: IdentityProvider): GatewayConfig['incoming'] {
  return {
    type: 'oidc',
    issuer: identity.issuer,
    audience: 'bench',
    jwks_url: identity.jwksUrl,
    insecure_allow_http: true,
    jwks_allow_private_ip: true,
  };
}

function signTokens(
  identity: IdentityProvider,
  count: number,
  claims: object,
  levelOf: (index: number) => number = () => 3,
): Promise<string[]> {
  const users = Array.from({ length: count }, (_, index) => ({ sub: `user-${index}`, level: levelOf(index) }));
  return Promise.all(users.map((user) => identity.sign({ ...user, aud: 'bench', scope: 'mcp', ...claims })));
}

/**
 * Starts a gateway with JWT, alone or with ten policies that show every tool to these principals. The last `own`
 * principals have a unique claim.
 */
export async function startListing(
  urls: string[],
  identity: IdentityProvider,
  { principals, own, withPolicies }: { principals: number; own: number; withPolicies: boolean },
  options: GatewayOptions = {},
): Promise<Target & Pick<Gateway, 'privateUrl'>> {
  const config: GatewayConfig = {
    incoming: incomingOf(identity),
    ...(withPolicies ? { authz: { policies: BENCH_POLICIES } } : {}),
    backends: backendNames(urls),
    limits: LIMITS,
  };
  const claims = { groups: ['engineering'], department: 'finance' };
  const levelOf = (index: number) => (index < principals - own ? 3 : index);
  const tokens = await signTokens(identity, principals, claims, levelOf);
  return asTarget('vmcp lists', await startGateway(config, { prefix: SERVER_CORE, ...options }), tokens);
}

/** Starts a gateway with JWT in front of a program on standard input and output that refuses one method. */
export async function startStdio(refuses: string, identity: IdentityProvider): Promise<Target> {
  const [command, ...args] = [...CLIENT_CORE, process.execPath, join(HERE, 'stdio-backend.ts'), refuses];
  const config: GatewayConfig = {
    incoming: incomingOf(identity),
    backends: [{ name: 'b0', transport: 'stdio', command, args }],
    limits: LIMITS,
  };
  const tokens = await signTokens(identity, 8, {});
  const target = asTarget('vmcp stdio', await startGateway(config, { prefix: SERVER_CORE }), tokens);
  // The gateway is ready before the program has started.
  for (let tries = 0; tries < 100; tries += 1) {
    const listing = openSession(target.url, tokens[0]).then((headers) => listTools(target.url, headers));
    const names = await listing.catch(() => []);
    if (names.length > 0) return target;
    await sleep(100);
  }
  await target.stop();
  throw new Error('the gateway does not list the tools of the program');
}

/**
 * Starts a gateway with authentication on both sides: JWT, ten policies, exchanged tokens; with the audit log on or
 * off.
 */
export async function startBothBoundaries(
  urls: string[],
  identity: IdentityProvider,
  audited: boolean,
): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-bench-'));
  const secret = join(folder, 'client-secret');
  await writeFile(secret, GATEWAY_CLIENT.secret, { mode: 0o600 });
  const auth = {
    type: 'token_exchange' as const,
    token_url: identity.tokenUrl,
    client_id: GATEWAY_CLIENT.id,
    client_secret_file: secret,
    audience: 'backend',
  };
  const config: GatewayConfig = {
    incoming: incomingOf(identity),
    authz: { policies: BENCH_POLICIES },
    backends: backendNames(urls).map((backend) => ({ ...backend, auth })),
    limits: LIMITS,
    audit_config: audited ? { enabled: true, logFile: join(folder, 'audit.log') } : { enabled: false },
  };
  const tokens = await signTokens(identity, 8, { groups: ['engineering'], department: 'research' });
  const name = audited ? 'vmcp both boundaries, audit' : 'vmcp both boundaries';
  const target = asTarget(name, await startGateway(config, { prefix: SERVER_CORE }), tokens);
  return {
    ...target,
    async stop() {
      await target.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a gateway with logins at the embedded authorization server. Backends receive the providers' tokens. */
export async function startOwnLogins(urls: string[]): Promise<Target> {
  const auth = { type: 'upstream_inject' as const, provider_name: 'okta' };
  const place = await arrange({
    config: {
      backends: backendNames(urls).map((backend) => ({ ...backend, auth })),
      limits: LIMITS,
      audit_config: { enabled: false },
    },
  });
  // Starts it again as a process on the server's core.
  await place.gateway.close();
  const { origin } = place;
  const listen = { port: Number(new URL(origin).port), private_port: 0 };
  const gateway = await startGateway({ ...place.configOf(), listen }, { prefix: SERVER_CORE });
  const client = await place.client();
  const tokens: string[] = [];
  for (let index = 0; index < 8; index += 1) {
    tokens.push((await client.login({ user: `user-${index}` })).access_token);
  }
  return {
    ...asTarget('vmcp own logins', { ...gateway, url: place.resource }, tokens),
    async stop() {
      await gateway.stop();
      await place.close();
    },
  };
}

/** A token endpoint under test. */
export interface TokenTarget {
  readonly port: number;
  readonly pid: number;
  /** Requests the sessions, codes or clients that the load needs. */
  ask<Answer>(path: string): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts the endpoints of the authorization server with this storage of a run configuration. */
export function startTokenServer(storage: object): Promise<TokenTarget> {
  return startTokens('token-server.ts', [JSON.stringify(storage)]);
}

/** Starts a POST endpoint on express that reads a form and answers JSON. */
export function startBareExpress(): Promise<TokenTarget> {
  return startTokens('bare-express.ts', []);
}

async function startTokens(file: string, args: string[]): Promise<TokenTarget> {
  const { program, said } = await run([...SERVER_CORE, process.execPath, '--expose-gc'], file, args);
  const ask = async <Answer>(path: string): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${String(said.controlPort)}${path}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
    return JSON.parse(text) as Answer;
  };
  return { port: Number(said.port), pid: program.pid, ask, stop: () => program.stop() };
}
