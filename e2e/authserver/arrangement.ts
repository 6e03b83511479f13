import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveWhoami } from '../fakes/whoami/serve.ts';
import type { RunningFake } from '../fakes/mcp/serve.ts';
import { serveGateway, type ServedGateway, type ServeOptions } from '../gateway/serve-gateway.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { OAuthClient } from './oauth-client.ts';
import { startProvider, type ProviderSpec, type RunningProvider } from './providers.ts';
import type { StorageDocument } from './storages.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type BackendDocument = RunConfigDocument['backends'][number];

export interface ArrangementOptions {
  /** In the order of the chain. The first one is the primary provider, unless `authServer` says otherwise. */
  readonly providers?: readonly ProviderSpec[];
  /** Default: memory. `sqlite`: a file in a separate folder. */
  readonly storage?: StorageDocument | 'sqlite';
  /** Default: persistent, in files that outlive a restart. */
  readonly keys?: 'persistent' | 'ephemeral';
  /** Maximum number of replicas. Their ports and redirect URIs are fixed beforehand. */
  readonly replicas?: number;
  readonly authServer?: Partial<AuthServerDocument>;
  readonly config?: Partial<GatewayConfig>;
  /** Certificate files; with them, the gateway serves over TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Files beside the run configuration: name to content. */
  readonly files?: Readonly<Record<string, string>>;
  /** Backends besides those that each provider has. */
  readonly backends?: readonly BackendDocument[];
  readonly observe?: ServeOptions['observe'];
}

/** A gateway with the embedded authorization server in this process, its providers, and a `whoami` backend for each. */
export interface Arrangement {
  /** Origin of the authorization server and the endpoint. */
  readonly origin: string;
  readonly resource: string;
  /** Folder of its keys and secrets. */
  readonly folder: string;
  readonly providers: Readonly<Record<string, RunningProvider>>;
  readonly whoami: RunningFake;
  /** The running gateway. */
  readonly gateway: ServedGateway;
  /** Starts another replica with the same configuration at a separate port. Closing the arrangement closes it. */
  replica(changes?: Partial<GatewayConfig>): Promise<ServedGateway>;
  /** Ends the gateway and starts it again, with these changes. */
  restart(changes?: Partial<GatewayConfig>): Promise<void>;
  /** Ends the gateway, deletes its logins and its keys, and starts it again with new keys. */
  restartWithoutState(): Promise<void>;
  configOf(changes?: Partial<GatewayConfig>): GatewayConfig;
  client(metadata?: Readonly<Record<string, unknown>>): Promise<OAuthClient>;
  close(): Promise<void>;
}

const USUAL: readonly ProviderSpec[] = [{ name: 'okta', kind: 'odd', options: { oidc: true, refresh: 'rotates' } }];

/** The parts that exist before a gateway starts. */
interface Setup extends Pick<Arrangement, 'origin' | 'resource' | 'folder' | 'providers' | 'whoami' | 'configOf'> {
  /** One port for each replica. */
  readonly ports: readonly number[];
  close(): Promise<void>;
}

async function openSetup(options: ArrangementOptions): Promise<Setup> {
  const { providers: specs = USUAL, replicas = 1, keys = 'persistent' } = options;
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-authserver-'));
  const ports = await findPorts(replicas);
  const origin = `${options.tls ? 'https' : 'http'}://127.0.0.1:${ports[0] ?? 0}`;
  const whoami = await serveWhoami();
  const providers: RunningProvider[] = [];
  for (const spec of specs) {
    const provider = await startProvider(spec, [`${origin}/oauth/callback/${spec.name}`], secretOf(folder, spec.name));
    await writeFile(secretOf(folder, spec.name), provider.secret);
    providers.push(provider);
  }
  if (keys === 'persistent') await writeKeys(folder);
  const parts = { origin, folder, providers, whoami, keys, options };
  return {
    origin,
    resource: `${origin}/mcp`,
    folder,
    ports,
    whoami,
    providers: Object.fromEntries(providers.map((provider) => [provider.name, provider])),
    configOf: (changes = {}) => configure(parts, changes),
    async close() {
      await Promise.all([whoami.close(), ...providers.map((provider) => provider.close())]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts an arrangement. The caller closes it. */
export async function arrange(options: ArrangementOptions = {}): Promise<Arrangement> {
  const { ports, ...setup } = await openSetup(options);
  const started: ServedGateway[] = [];
  const serve = async (port: number, changes: Partial<GatewayConfig> = {}) => {
    const files = { ...options.files };
    const tls = options.tls && { cert_file: options.tls.certFile, key_file: options.tls.keyFile };
    const config = { ...setup.configOf(changes), listen: { port, private_port: 0, ...(tls && { tls }) } };
    const gateway = await serveGateway(config, { files, ...(options.observe && { observe: options.observe }) });
    started.push(gateway);
    return gateway;
  };
  let gateway = await serve(ports[0] ?? 0);
  let used = 1;
  return {
    ...setup,
    get gateway() {
      return gateway;
    },
    replica: (changes) => serve(ports[used++] ?? 0, changes),
    async restart(changes) {
      await gateway.close();
      gateway = await serve(ports[0] ?? 0, changes);
    },
    async restartWithoutState() {
      await gateway.close();
      const names = (await readdir(setup.folder)).filter((name) => name.startsWith('logins.sqlite'));
      await Promise.all(names.map((name) => rm(join(setup.folder, name))));
      await writeKeys(setup.folder);
      gateway = await serve(ports[0] ?? 0);
    },
    client: (metadata) => OAuthClient.register(setup.origin, metadata),
    async close() {
      for (const one of started) await one.close();
      await setup.close();
    },
  };
}

/** The same arrangement with one process for each replica. */
export interface ProcessArrangement extends Omit<Setup, 'ports'> {
  readonly processes: readonly Gateway[];
  client(): Promise<OAuthClient>;
}

export async function arrangeProcesses(options: ArrangementOptions): Promise<ProcessArrangement> {
  const { ports, ...setup } = await openSetup(options);
  const processes: Gateway[] = [];
  const close = async () => {
    await Promise.all(processes.map((one) => one.stop()));
    await setup.close();
  };
  try {
    for (const port of ports) {
      const listen = { port, private_port: await findFreePort() };
      processes.push(await startGateway({ ...setup.configOf(), listen }));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { ...setup, processes, client: () => OAuthClient.register(setup.origin), close };
}

async function findPorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await findFreePort());
  return ports;
}

/** Writes a signing key and a secret. `serial`: number of the pair, higher for later ones. */
export async function writeKeys(folder: string, serial = 1): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(keyFile(folder, serial), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await writeFile(secretFile(folder, serial), randomBytes(48).toString('base64'));
}

export const keyFile = (folder: string, serial: number) => join(folder, `signing-key-${serial}`);
export const secretFile = (folder: string, serial: number) => join(folder, `hmac-secret-${serial}`);

const secretOf = (folder: string, provider: string) => join(folder, `secret-of-${provider}`);

interface Parts {
  readonly origin: string;
  readonly folder: string;
  readonly providers: readonly RunningProvider[];
  readonly whoami: RunningFake;
  readonly keys: 'persistent' | 'ephemeral';
  readonly options: ArrangementOptions;
}

function configure({ origin, folder, providers, whoami, keys, options }: Parts, changes: Partial<GatewayConfig>) {
  const resource = `${origin}/mcp`;
  const authServer: AuthServerDocument = {
    issuer: origin,
    allowed_audiences: [resource],
    upstreams: providers.map(({ upstream }) => upstream),
    limits: { registrations_per_minute: 100_000 },
    storage: storageIn(folder, options.storage),
    ...(keys === 'persistent' && {
      signing_key_config: { signing_key_file: keyFile(folder, 1) },
      hmac_secret_files: [secretFile(folder, 1)],
    }),
    ...options.authServer,
  };
  const config: GatewayConfig = {
    server: { namespace: 'e2e', name: 'gateway', uid: 'e2e' },
    resource_url: resource,
    incoming: { type: 'oidc', issuer: origin, audience: resource, embedded: true },
    embedded_auth_server_config: authServer,
    audit_config: { enabled: true },
    backends: [
      ...providers.map((provider) => injected(provider, whoami)),
      ...exchanged(providers, whoami, folder),
      ...(options.backends ?? []),
    ],
    ...options.config,
    ...changes,
  };
  return config;
}

function storageIn(folder: string, storage: ArrangementOptions['storage'] = { type: 'memory' }): StorageDocument {
  return storage === 'sqlite' ? { type: 'sqlite', file: join(folder, 'logins.sqlite') } : storage;
}

/** Returns a backend with the name of the provider whose token it gets. */
function injected({ name }: RunningProvider, { url }: RunningFake): BackendDocument {
  return { name, transport: 'streamable-http', url, auth: { type: 'upstream_inject', provider_name: name } };
}

export const EXCHANGE_AUDIENCE = 'https://files.example';

/** Returns a backend `exchanged`, whose token the first real provider gives for its own stored one. */
function exchanged(providers: readonly RunningProvider[], { url }: RunningFake, folder: string): BackendDocument[] {
  const real = providers.find((provider) => provider.real !== undefined);
  if (real === undefined) return [];
  return [
    {
      name: 'exchanged',
      transport: 'streamable-http',
      url,
      auth: {
        type: 'token_exchange',
        token_url: real.tokenUrl,
        client_id: 'vmcp',
        client_secret_file: secretOf(folder, real.name),
        audience: EXCHANGE_AUDIENCE,
        subject_provider_name: real.name,
      },
    },
  ];
}
