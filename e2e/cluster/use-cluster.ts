import { randomBytes } from 'node:crypto';
import { Agent, request, type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { describe } from '@jest/globals';
import { type Finished, runProgram } from './run-program.ts';

const REQUEST_DEADLINE_MS = 30_000;
const KUBECTL_DEADLINE_MS = 60_000;

/** Answer of the API server; `body` is the object, or a Status with the problem. */
export interface Answer {
  readonly status: number;
  // Every object of every kind, as it came.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/** A Kubernetes cluster that the tests may change freely, each suite in its own namespaces. */
export interface Cluster {
  /** Path of the kubeconfig of an administrator. */
  readonly kubeconfig: string;
  readonly config: KubeConfig;
  /** Sends one unmodified request, e.g. `ask('GET', '/api/v1/namespaces')`. A patch names its kind in a header. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Server-side apply of an object at its path; takes fields over from other managers unless told otherwise. */
  apply(path: string, object: object, how?: { manager?: string; force?: boolean }): Promise<Answer>;
  /** Runs kubectl, with a text as its standard input. */
  kubectl(args: readonly string[], input?: string): Promise<Finished>;
  /** Creates a namespace with a unique name: the suite and some random letters. */
  makeNamespace(suite: string): Promise<Namespace>;
}

export interface Namespace {
  readonly name: string;
  /** Starts the deletion of the namespace with its objects, and does not wait for the end. */
  delete(): Promise<void>;
}

/**
 * Returns the milliseconds after which a kubectl is killed: longer than its own timeout, whose message names the
 * awaited object.
 */
export function kubectlDeadline(args: readonly string[]): number {
  const [, seconds = '0'] = args.map((arg) => /^--timeout=(\d+)s$/.exec(arg)).find((found) => found !== null) ?? [];
  return KUBECTL_DEADLINE_MS + Number(seconds) * 1000;
}

/** Returns the cluster that E2E_KUBECONFIG names, if any. */
export function useCluster(): Cluster | undefined {
  const kubeconfig = process.env.E2E_KUBECONFIG;
  if (kubeconfig === undefined || kubeconfig === '') return undefined;
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const askServer = createAsking(config);
  const ask: Cluster['ask'] = (method, path, body, headers = {}) => askServer({ method, path, body, headers });
  return {
    kubeconfig,
    config,
    ask,
    apply: (path, object, { manager = 'e2e', force = true } = {}) =>
      ask('PATCH', withQuery(path, `fieldManager=${manager}&force=${force}`), object, {
        'content-type': 'application/apply-patch+yaml',
      }),
    kubectl: (args, input) =>
      runProgram('kubectl', ['--kubeconfig', kubeconfig, ...args], {
        deadline: kubectlDeadline(args),
        ...(input === undefined ? {} : { input }),
      }),
    makeNamespace: (suite) => makeNamespace(ask, suite),
  };
}

/** Describes tests on a real cluster. Without one they are skipped, with the reason. */
export function describeWithCluster(name: string, tests: (cluster: Cluster) => void): void {
  const cluster = useCluster();
  if (cluster !== undefined) {
    describe(name, () => {
      tests(cluster);
    });
    return;
  }
  const why = process.env.E2E_NO_CLUSTER ?? 'make test-cluster brings one up, E2E_KUBECONFIG names another';
  const missing = `skipped: no cluster; ${why}`;
  process.stderr.write(`${name}: ${missing}\n`);
  // The tests are declared without a cluster, so that each counts as skipped.
  describe.skip(`${name} (${missing})`, () => {
    tests(NO_CLUSTER);
  });
}

const nothing = () => Promise.reject(new Error('there is no cluster'));
const NO_CLUSTER: Cluster = {
  kubeconfig: '',
  config: new KubeConfig(),
  ask: nothing,
  apply: nothing,
  kubectl: nothing,
  makeNamespace: nothing,
};

async function makeNamespace(ask: Cluster['ask'], suite: string): Promise<Namespace> {
  const name = `${suite}-${randomBytes(3).toString('hex')}`;
  const { status, body } = await ask('POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  if (status !== 201) throw new Error(`the namespace ${name} could not be made: ${JSON.stringify(body)}`);
  return {
    name,
    async delete() {
      await ask('DELETE', `/api/v1/namespaces/${name}`);
    },
  };
}

const withQuery = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;

interface Question {
  method: string;
  path: string;
  body: unknown;
  headers: Record<string, string>;
}

/** Sends requests on keep-alive connections: a new connection costs more than most answers. */
function createAsking(config: KubeConfig): (question: Question) => Promise<Answer> {
  let agent: Agent | undefined;
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new Error('the kubeconfig names no cluster');
  return async ({ method, path, body, headers }) => {
    const usual = { accept: 'application/json', 'content-type': 'application/json' };
    const options: RequestOptions = { method, headers: { ...usual, ...headers } };
    await config.applyToHTTPSOptions(options);
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    agent ??= new Agent(defined({ ca, cert, key, rejectUnauthorized, servername, keepAlive: true, maxSockets: 24 }));
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    return send(new URL(path, server), { ...options, agent }, text);
  };
}

const defined = (options: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

function send(url: URL, options: RequestOptions, text: string | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(REQUEST_DEADLINE_MS);
    const outgoing = request(url, { ...options, signal }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.once('error', reject);
      incoming.once('end', () => resolve({ status: incoming.statusCode ?? 0, body: read(Buffer.concat(parts)) }));
    });
    outgoing.once('error', reject);
    outgoing.end(text);
  });
}

/** Some answers, as those of /version and /readyz, are plain text. */
function read(bytes: Buffer): unknown {
  const text = bytes.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
