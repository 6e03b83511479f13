import type { RequestOptions } from 'node:https';
import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';

/** How the API server is reached: its address, and what a request needs so that it is let in. */
export interface Connection {
  /** Address without a slash at its end. */
  server: string;
  /** Namespace of the context, or of the pod; undefined where neither says one. */
  namespace: string | undefined;
  /** Headers of a request now. Reads files and runs programs as the kubeconfig says, at most every few seconds. */
  authenticate(): Promise<{ headers: Record<string, string>; dispatcher: Dispatcher }>;
  /** What was kept of the last `authenticate` is not used again: the server refused it. */
  forget(): void;
  close(): Promise<void>;
}

interface ConnectOptions {
  /** Path of a kubeconfig file. Without, the pod's own account inside a cluster, else KUBECONFIG, else ~/.kube/config. */
  kubeconfig?: string | undefined;
  /** Name of a context other than the current one. */
  context?: string | undefined;
  /** Most requests at once, watches included. */
  connections?: number;
}

/** Files of a pod's account change; a program's answer is kept by the client library itself. Milliseconds. */
const KEPT_FOR = 10_000;

/** Reads the kubeconfig. Throws an Error that names the file or context and says what to do. */
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

/** What the library takes where it finds nothing. */
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

/** Connects as a kubeconfig says. Opens nothing before the first request. */
export function connect(config: KubeConfig, { connections = 64 }: ConnectOptions = {}): Connection {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`the kubeconfig's context "${config.getCurrentContext()}" names no cluster`);
  let kept: (Access & { material: string }) | undefined;
  let pending: Promise<Access> | undefined;
  let keptUntil = 0;

  /** Headers as they are now, and one agent that is kept while certificates stay what they are. */
  async function refresh(): Promise<Access> {
    const { headers, tls } = await readKubeConfig(config);
    const material = JSON.stringify(tls);
    if (kept?.material !== material) {
      // Requests on their way end first.
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

/** What the library makes of the kubeconfig: tokens of files and programs, certificates, who is impersonated. */
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
    return new Agent({ connections, connect: { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000 } as object });
  }
  const context = new RequestContext(config.getCurrentCluster()?.server ?? '', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  if (!dispatcher) throw new Error('the proxy-url of the kubeconfig could not be used');
  return dispatcher;
}
