import type { RequestOptions } from 'node:https';
import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { BOUNDS } from '#operator/memory-bounds';

export interface Connection {
  /** Address without a trailing slash. */
  server: string;
  namespace: string | undefined;
  /** Returns the current headers of a request. Reads files and runs programs of the kubeconfig, at most every few seconds. */
  authenticate(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** Discards the cached result of `authenticate` after a refusal. */
  forget(): void;
  close(): Promise<void>;
}

interface ConnectOptions {
  /** Path of a kubeconfig file. Default: the pod's account in a cluster, else KUBECONFIG, else ~/.kube/config. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  /** Most concurrent requests, including watches. */
  connections?: number;
}

/** The files of a pod's account change; the client library caches the answers of programs. Milliseconds. */
const KEPT_FOR = 10_000;

/** Reads the kubeconfig. @throws Error that names the file or context and the remedy */
export function loadKubeConfig({ kubeconfig, context }: ConnectOptions): KubeConfig {
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    const reason = String(cause).replace(/^Error: /, '');
    const remedy = 'name a file that can be read, or leave --kubeconfig away inside a cluster';
    throw new Error(`--kubeconfig ${kubeconfig ?? '(default)'}: ${reason}: ${remedy}`, { cause });
  }
  if (kubeconfig === undefined && isMadeUp(config)) throw new Error(NO_KUBECONFIG);
  if (context !== undefined) selectContext(config, context);
  return config;
}

const NO_KUBECONFIG =
  'there is no kubeconfig: neither KUBECONFIG nor ~/.kube/config names one, and this is no pod with an account; set KUBECONFIG, or write --kubeconfig <file>';

/** Returns whether the library made up this config because it found none. */
function isMadeUp(config: KubeConfig): boolean {
  return (
    config.getCurrentContext() === 'loaded-context' && config.getCurrentCluster()?.server === 'http://localhost:8080'
  );
}

function selectContext(config: KubeConfig, context: string): void {
  const names = config.getContexts().map(({ name }) => name);
  if (!names.includes(context)) {
    throw new Error(`--context ${context}: the kubeconfig has no such context: use one of ${names.join(', ')}`);
  }
  config.setCurrentContext(context);
}

interface Access {
  headers: Record<string, string>;
  dispatcher: Dispatcher;
}

/** Connects with a kubeconfig. Opens no connection before the first request. */
export function connect(config: KubeConfig, { connections = 64 }: ConnectOptions = {}): Connection {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`the kubeconfig's context "${config.getCurrentContext()}" names no cluster`);
  let kept: (Access & { material: string }) | undefined;
  let pending: Promise<Access> | undefined;
  let keptUntil = 0;

  async function refresh(): Promise<Access> {
    const { headers, tls } = await readKubeConfig(config);
    const material = JSON.stringify(tls);
    if (kept?.material !== material) {
      // Open requests end first.
      void kept?.dispatcher.close();
      kept = { headers, material, dispatcher: await createDispatcher(config, tls, connections) };
    }
    kept = { ...kept, headers };
    keptUntil = Date.now() + KEPT_FOR;
    return kept;
  }

  return {
    server: cluster.server.replace(/\/+$/, ''),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    async authenticate() {
      if (kept && Date.now() < keptUntil) return kept;
      pending ??= refresh().finally(() => (pending = undefined));
      return pending;
    },
    forget() {
      keptUntil = 0;
    },
    async close() {
      await kept?.dispatcher.destroy();
    },
  };
}

type TlsOptions = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized'> & { servername?: string };

async function readKubeConfig(config: KubeConfig): Promise<{ headers: Record<string, string>; tls: TlsOptions }> {
  const headers: Record<string, string> = {};
  const options: RequestOptions & { servername?: string } = { headers };
  await config.applyToHTTPSOptions(options);
  const { auth, ca, cert, key, rejectUnauthorized, servername } = options;
  if (typeof auth === 'string') headers.authorization = `Basic ${Buffer.from(auth).toString('base64')}`;
  const tls = { ca, cert, key, rejectUnauthorized, servername };
  return { headers, tls: Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined)) };
}

async function createDispatcher(config: KubeConfig, tls: TlsOptions, connections: number): Promise<Dispatcher> {
  if (config.getCurrentCluster()?.proxyUrl === undefined) {
    return new Agent({
      connections,
      // undici 8.12 accepts h2Options.settings.initialWindowSize, and does not use it.
      initialWindowSize: BOUNDS.api.window,
      connect: { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000 } as object,
    });
  }
  const context = new RequestContext(config.getCurrentCluster()?.server ?? '', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  if (!dispatcher) throw new Error('the proxy-url of the kubeconfig could not be used');
  return dispatcher;
}
