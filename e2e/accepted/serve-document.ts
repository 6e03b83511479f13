import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type ReadSecret, redisOptions } from '#lib/connections/redis-options';
import { pathText } from '#crds/parts/explain';
import { findProblems } from '#crds/run-config/find-problems';
import type { RunConfig } from '#crds/run-config/run-config';
import type { Rendered } from '#operator/plan/outcome';
import { createAuthServer } from '#runtime/authserver/create-auth-server';
import { buildAuthenticator } from '#runtime/build-authenticator';
import { buildHostOriginCheck } from '#runtime/build-host-origin-check';
import { backendDeps, type GatewayOptions } from '#runtime/gateway-options';
import { publicServer } from '#runtime/public-server';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { loadRunConfig } from '#runtime/load-run-config';
import { createBackend } from '#runtime/mcp/backends/create-backend';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import { ListenStreams } from '#runtime/mcp/bridge/to-modern/listen-streams';
import { AppUris } from '#runtime/mcp/aggregate/app-uris';
import { ParkedCalls } from '#runtime/mcp/bridge/to-legacy/parked-calls';
import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { createObserver } from '#runtime/observer';
import { ExchangedTokens } from '#runtime/outgoing/exchanged-tokens';
import { loadAuthorizer } from '#runtime/policy/load-authorizer';
import { LimitTable } from '#runtime/rate-limits/limit-table';
import type { SecretFiles } from '#runtime/secret-files';
import { createMetrics } from '#runtime/telemetry/metrics';
import { READS_NOTHING } from '#runtime/policy/policy-reads';

const ignore = () => undefined;
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore };
/** Shared by all documents, because creating metrics takes longer than all other steps. */
const metrics = createMetrics({ version: '0', namespace: 'default', server: 'server' });
const listening = { host: '127.0.0.1', port: 4483 };

/** Reads a value of a Secret, or a value that the platform generates. */
export type ReadSource = (source: Rendered['secretFiles'][string], file: string) => string;

function filesOf(rendered: Rendered, read: ReadSource): SecretFiles {
  const contents = new Map<string, string>([
    ...Object.entries(rendered.plainFiles).map(
      ([file, text]) => [`${rendered.configDirectory}/${file}`, text] as const,
    ),
    ...Object.entries(rendered.secretFiles).map(
      ([file, source]) => [`${rendered.secretDirectory}/${file}`, read(source, file)] as const,
    ),
  ]);
  const content = (file: string) => {
    // The document names a token that the kubelet mounts by its path.
    const found = contents.get(file) ?? (file.startsWith('/var/run/secrets/') ? 'token' : undefined);
    if (found === undefined) throw new Error(`${file} is named and not rendered`);
    return found;
  };
  return {
    read: (file) => content(file).replace(/[\r\n]+$/, ''),
    readBytes: (file) => Buffer.from(content(file)),
    refresh: () => [],
    keep: ignore,
    fingerprints: () => ({}),
  };
}

async function serveAuthServer(config: RunConfig, { files, observer }: GatewayOptions) {
  const { embedded_auth_server_config: wanted } = config;
  if (wanted === undefined) return undefined;
  const server = await createAuthServer(
    { ...wanted, storage: { type: 'memory' } },
    {
      ...{
        place: config.server,
        resourceUrl: config.resource_url ?? '',
        readFile: files.read,
        readBytes: files.readBytes,
      },
      ...{ readSource: observer.readSource, record: ignore, answered: ignore, log: quiet, proxy: undefined },
      ...{
        sharedLogins: () => [],
        policyReads: () => READS_NOTHING,
        now: Date.now,
        random: randomBytes,
      },
    },
  );
  // The planner has already reported a provider whose Secret is missing.
  const planned = wanted.upstreams.flatMap(({ out_of_service: reason }) => reason ?? []);
  const out = server.warnings.find(
    (warning) => warning.includes('out of service') && !planned.some((reason) => warning.endsWith(reason)),
  );
  if (out === undefined) return server;
  await server.close();
  throw new Error(out);
}

/** Returns the settings with the logins at remote servers in memory. */
function withoutStore(settings: RunConfig['backends'][number]): RunConfig['backends'][number] {
  const { auth } = settings;
  if (auth.type !== 'remote_auth') return settings;
  return { ...settings, auth: { ...auth, storage: { type: 'memory' } } };
}

/** Checks the settings of each Redis. Opens no connection. */
function checkStores({ session_storage: sessions, embedded_auth_server_config: logins }: RunConfig, read: ReadSecret) {
  for (const storage of [sessions, logins?.storage]) {
    if (storage?.type === 'redis') redisOptions(storage.redis, read, 0);
  }
}

const noApps = () =>
  new AppUris({ backends: () => [], lists: { listsOf: () => [] }, sessionIdle: () => 0, now: () => 0 });

/** Creates each backend as the runtime does, without calling it. Starts no process and opens no store. */
async function serveBackends(config: RunConfig, options: GatewayOptions, userTokens: object | undefined) {
  const deadlines = new Deadlines(() => performance.now());
  const exchanged = new ExchangedTokens({ now: Date.now });
  const deps = {
    ...{ ...backendDeps(options), config, exchanged, deadlines, bufferedBytes: new BufferedBytes(1_000_000) },
    ...{ parkedCalls: new ParkedCalls(), listenStreams: new ListenStreams(), apps: noApps() },
    ...{ now: () => performance.now(), listChanged: ignore, userTokens: userTokens as never },
  };
  try {
    for (const settings of config.backends) {
      await (await createBackend(withoutStore(settings), deps)).close();
    }
  } finally {
    deadlines.close();
  }
}

/** Builds all parts that a document requires, except ports, stores and processes. @throws the runtime's error. */
export async function serveDocument(rendered: Rendered, read: ReadSource, folder: string): Promise<void> {
  const file = join(folder, 'run-config.yaml');
  await writeFile(file, rendered.text);
  const files = filesOf(rendered, read);
  const { config } = await loadRunConfig(file, files.read);
  // The runtime would serve the rest without the part that has the problem.
  const problems = findProblems(config).map(({ path, message }) => `${pathText(path)}: ${message}`);
  if (problems.length > 0) throw new Error(problems.join('; '));
  const shared = { files, log: quiet, version: '0', proxy: undefined, environment: {} };
  const observer = await createObserver(config, { ...shared, metrics, auditStream: process.stderr });
  const options: GatewayOptions = { ...shared, observer, listening };
  try {
    buildHostOriginCheck(config, listening);
    new LimitTable(config);
    publicServer({ followed: { current: { config, digest: '', files: [] }, files }, log: quiet }, () => undefined);
    checkStores(config, files.read);
    createSecretRing(
      config.sealing_secret_files.map((one) => ({ file: one, content: files.readBytes(one) })),
      { now: Date.now, random: randomBytes },
    );
    await loadAuthorizer(config.authz, { log: quiet });
    const authServer = await serveAuthServer(config, options);
    try {
      buildAuthenticator(config, options, authServer).close();
      await serveBackends(config, options, authServer?.userTokens);
    } finally {
      await authServer?.close();
    }
  } finally {
    await observer.close();
  }
}
