import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { ProxySettings } from '#lib/connections/proxy';
import { RunConfig, type RunConfigDocument } from '#crds/run-config/run-config';
import { FollowedRunConfig } from '#runtime/follow-run-config';
import { loadRunConfig } from '#runtime/load-run-config';
import { createSecretFiles } from '#runtime/secret-files';
import { startRuntime, type RunningRuntime } from '#runtime/process';
import type { LookUp } from '#runtime/mcp/backends/backend-pods';
import { createLog } from '#runtime/telemetry/create-log';
import type { GatewayConfig } from './start-gateway.ts';

/** The runtime inside the test's own process, for tests of single behaviours. */
export interface ServedGateway {
  readonly url: string;
  readonly origin: string;
  readonly runtime: RunningRuntime;
  /** Folder of the run configuration, and base of its relative file names. */
  readonly folder: string;
  /** Returns the log so far. */
  log(): string;
  /** Writes a new run configuration and waits until the runtime applies or refuses it. */
  reconfigure(config: GatewayConfig): Promise<void>;
  close(): Promise<void>;
}

export interface ServeOptions {
  /** Files of the folder: name to content. */
  readonly files?: Record<string, string>;
  /** Resolves host names; absent: the resolver of this machine. */
  readonly lookUp?: LookUp;
  /** Milliseconds after its opening before which a session is not evicted; absent: a minute. */
  readonly evictableAfter?: number;
  /** Milliseconds for running calls at the end. */
  readonly drain?: number;
  /** False: returns before the first probe of every backend. */
  readonly probed?: boolean;
  /** Proxy settings, as in the environment variables. */
  readonly proxy?: ProxySettings;
  /** Replaces the first configuration of the runtime, for example by a copy that records each access. */
  readonly observe?: (config: RunConfig) => RunConfig;
}

function documentOf(config: GatewayConfig): RunConfigDocument {
  const document: RunConfigDocument = {
    schema_version: 'v0.1.0',
    server: { namespace: 'e2e', name: 'gateway', uid: 'e2e' },
    listen: { port: 0, private_port: 0 },
    ...config,
  };
  RunConfig.parse(document);
  return document;
}

/** Starts the runtime with this configuration on free ports. Returns after the first probe of every backend. */
export async function serveGateway(
  config: GatewayConfig,
  { files = {}, lookUp, drain = 500, proxy, evictableAfter, probed = true, observe }: ServeOptions = {},
): Promise<ServedGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-e2e-'));
  const file = join(folder, 'run-config.yaml');
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await writeFile(file, JSON.stringify(documentOf(config)));
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const log = createLog('debug', stream);
  const secretFiles = createSecretFiles({ folder, log });
  const loaded = await loadRunConfig(file, secretFiles.read);
  const first = { ...loaded, config: observe?.(loaded.config) ?? loaded.config };
  const following = { file, listed: undefined, log, now: Date.now, interval: 50, debounce: 10 };
  const followed = new FollowedRunConfig(following, secretFiles, first);
  const runtime = await startRuntime({
    followed,
    log,
    version: '0.0.0',
    proxy,
    environment: process.env,
    drain,
    ...(lookUp && { lookUp }),
    ...(evictableAfter !== undefined && { evictableAfter }),
    auditStream: stream,
  });
  if (probed) await runtime.gateway.probed;
  const { port } = runtime.address;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    origin: `http://127.0.0.1:${port}`,
    runtime,
    folder,
    log: () => lines.join(''),
    async reconfigure(next) {
      await writeFile(`${file}.new`, JSON.stringify(documentOf(next)));
      await rename(`${file}.new`, file);
      await followed.check();
      await runtime.gateway.probed;
    },
    async close() {
      await runtime.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
