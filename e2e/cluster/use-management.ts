import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as requestHead } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { text } from 'node:stream/consumers';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { Agent, type Dispatcher, request } from 'undici';
import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { applyRoles, kubeconfigOf, makeAccount, tokenOf } from './accounts.ts';
import { portOf } from './operator-metrics.ts';
import { installDefinitions } from './stage.ts';
import { startManagement, startOperator } from './start-operator.ts';
import type { Answer, Cluster, Namespace } from './use-cluster.ts';

export const AUDIENCE = 'vmcp-management';
const BASE = '/api/v1beta';
/** Milliseconds that an answer may take: more than the operator's timeout for the API server. */
const ANSWER_DEADLINE = 20_000;
const LOGS = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];
const SECRETS = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };

/**
 * Callers of the tests, with roles of the chart. The editor also has the right to Secrets and logs, as with the role
 * edit.
 */
export type Who = 'viewer' | 'editor' | 'keyless' | 'nobody' | 'neighbour';

/** Start options of the management API's program. */
export interface Starting {
  /** Another address of the API server. */
  server?: string | undefined;
  /** Port of the API; absent: a free one. */
  port?: number;
  flags?: readonly string[];
  env?: Record<string, string>;
}

export interface Asked extends Answer {
  readonly headers: Record<string, string | string[] | undefined>;
}

interface Question {
  /** The caller whose token is sent; any other text is sent as the header Authorization. */
  as?: Who | { authorization: string | undefined };
  body?: unknown;
  headers?: Record<string, string>;
  /** Undefined: no `?namespace=`. */
  namespace?: string | undefined;
}

/**
 * The management API and an operator on this machine, each with exactly the rights that the chart gives its account.
 */
export class ManagementStage {
  readonly cluster: Cluster;
  /** Temporary files of the management API and of the suite. */
  readonly folder = mkdtempSync(join(tmpdir(), 'vmcp-management-'));
  #ours: Namespace | undefined;
  #theirs: Namespace | undefined;
  #operator: Program | undefined;
  #program: Program | undefined;
  #port = 0;
  #trust: { ca: string; servername: string } | undefined;
  #dispatcher: Agent | undefined;
  #how: Starting = {};
  #takeAway: () => Promise<void> = () => Promise.resolve();
  readonly #tokens = new Map<Who, string>();

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /** The namespace in which callers have rights. */
  get namespace(): string {
    return this.#ours?.name ?? '';
  }

  /** Another namespace of the operator, in which only the neighbour has rights. */
  get otherNamespace(): string {
    return this.#theirs?.name ?? '';
  }

  /** The process that serves the management API. */
  get program(): Program {
    if (!this.#program) throw new Error('the management API of this suite has not been started');
    return this.#program;
  }

  /** Name of the installation. */
  get release(): string {
    return `vmcp-${this.namespace}`;
  }

  async open(suite: string, how: Starting = {}): Promise<void> {
    const { cluster } = this;
    this.#how = how;
    await installDefinitions(cluster);
    this.#ours = await cluster.makeNamespace(suite);
    this.#theirs = await cluster.makeNamespace(suite);
    const values = ['--set=management.enabled=true,crds.install=false'];
    this.#takeAway = await applyRoles(cluster, this.release, this.namespace, values);
    await this.#makeCallers();
    this.#operator = await this.#startOperator(how.server);
    await this.start();
  }

  async #makeCallers(): Promise<void> {
    const [view, edit] = [`${this.release}-view`, `${this.release}-edit`];
    const account = (name: Who, roles: (string | object)[], where?: string) =>
      makeAccount(this.cluster, { namespace: this.namespace, name }, roles, where);
    await account('viewer', [view]);
    await account('editor', [view, edit, SECRETS, ...LOGS]);
    await account('keyless', [view, edit]);
    await account('nobody', []);
    await account('neighbour', [view, edit, SECRETS], this.otherNamespace);
    for (const who of ['viewer', 'editor', 'keyless', 'nobody', 'neighbour'] as const)
      this.#tokens.set(who, await tokenOf(this.cluster, { namespace: this.namespace, name: who }, AUDIENCE));
  }

  token(who: Who): string {
    return this.#tokens.get(who) ?? '';
  }

  async #startOperator(server: string | undefined): Promise<Program> {
    const account = { namespace: this.namespace, name: this.release };
    const file = join(this.folder, 'operator-kubeconfig');
    const kubeconfig = await kubeconfigOf(this.cluster, account, file, server);
    return startOperator(this.cluster, this.#watched, [`--name=${this.release}`], { kubeconfig });
  }

  get #watched(): string[] {
    return [this.namespace, this.otherNamespace];
  }

  /** Starts the next process after the last one has ended. */
  async start(): Promise<void> {
    this.#program = await this.launch(this.#how);
    const name = `${this.release}-management-ca`;
    const path = `/api/v1/namespaces/${this.namespace}/configmaps/${name}`;
    // The port is read once, as only the latest output of a program is kept.
    this.#port = await portOf(this.#program, 'managementPort');
    const { body } = await eventually(
      () => this.cluster.ask('GET', path),
      ({ status }) => status === 200,
    );
    const servername = `${this.release}-management.${this.namespace}.svc`;
    const { data } = body as { data: { 'ca.crt': string } };
    this.#trust = { ca: data['ca.crt'], servername };
    this.#dispatcher = new Agent({ connect: this.#trust });
  }

  /** Starts the management API without waiting for it. Its temporary files are in a separate folder. */
  async launch({ server, port = 0, flags = [], env = {} }: Starting): Promise<Program> {
    const account = { namespace: this.namespace, name: `${this.release}-management` };
    const kubeconfig = await kubeconfigOf(this.cluster, account, join(this.folder, 'kubeconfig'), server);
    const all = [`--port=${port}`, `--name=${this.release}`, ...flags];
    return startManagement(this.#watched, all, { kubeconfig, env: { TMPDIR: this.folder, ...env } });
  }

  /** Kills the management API, as the kernel does without free memory. */
  async kill(): Promise<void> {
    process.kill(this.program.pid, 'SIGKILL');
    await this.program.ended;
    await this.#dispatcher?.close();
    this.#dispatcher = undefined;
  }

  /**
   * Kills the management API during a series of writes, numbered from 1. Returns the number of the last one that
   * succeeded.
   */
  async killAmid(write: (nr: number) => Promise<Asked>): Promise<number> {
    let answered = 0;
    const ended = (async () => {
      for (;;) {
        const { status = 0 } = (await write(answered + 1).catch(() => undefined)) ?? {};
        if (status < 200 || status > 299) return;
        answered += 1;
      }
    })();
    await eventually(
      () => answered,
      (count) => count >= 3,
    );
    await this.kill();
    await ended;
    return answered;
  }

  async stop(): Promise<void> {
    await this.#dispatcher?.close();
    await this.#program?.stop();
    await this.#operator?.stop();
  }

  /** Sends a request with the namespace of this stage, unless the question names another or none. */
  async ask(method: string, path: string, question: Question = {}): Promise<Asked> {
    const { body } = question;
    const answer = await request(this.#urlOf(path, question), {
      ...this.#through(),
      method,
      headers: this.headersOf(question),
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_DEADLINE),
    });
    return { status: answer.statusCode, headers: answer.headers, body: parsed(await answer.body.text()) };
  }

  /** Sends only the header, with a content-length of so many bytes. */
  async announce(method: string, path: string, length: number, question: Question = {}): Promise<Asked> {
    const asking = requestHead(this.#urlOf(path, question), {
      ...this.#trust,
      method,
      headers: { ...this.headersOf({ body: '', ...question }), 'content-length': length },
      signal: AbortSignal.timeout(ANSWER_DEADLINE),
    });
    asking.flushHeaders();
    try {
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: parsed(await text(answer)) };
    } finally {
      // The body is never sent.
      asking.on('error', () => undefined).destroy();
    }
  }

  /** Returns the answer as a stream, until `signal`. */
  async read(path: string, signal: AbortSignal, question: Question = {}): Promise<Dispatcher.ResponseData> {
    const url = this.#urlOf(path, question);
    const limits = { headersTimeout: ANSWER_DEADLINE, bodyTimeout: 0, signal };
    return request(url, { ...this.#through(), headers: this.headersOf(question), ...limits });
  }

  /** Address of the API, and the authority of its certificate. */
  get place() {
    return { host: '127.0.0.1', port: this.#port, ...this.#trust };
  }

  /** Opens a connection for handwritten requests. */
  async connect(): Promise<TLSSocket> {
    const socket = connect(this.place);
    await once(socket, 'secureConnect');
    return socket.on('error', () => undefined);
  }

  #through(): { dispatcher?: Agent } {
    return this.#dispatcher ? { dispatcher: this.#dispatcher } : {};
  }

  #urlOf(path: string, question: Question): URL {
    const url = new URL(`https://127.0.0.1:${this.#port}${BASE}${path}`);
    const namespace = 'namespace' in question ? question.namespace : this.namespace;
    if (namespace !== undefined) url.searchParams.set('namespace', namespace);
    return url;
  }

  /** Returns the headers of a request, by default with the editor's token. */
  headersOf({ as = 'editor', body, headers }: Question): Record<string, string> {
    const authorization = typeof as === 'string' ? `Bearer ${this.token(as)}` : as.authorization;
    return {
      ...(authorization !== undefined && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#takeAway();
    for (const namespace of [this.#ours, this.#theirs]) await namespace?.delete();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const parsed = (answered: string): unknown => (answered.startsWith('{') ? JSON.parse(answered) : answered);

/** Opens a stage before the first `beforeAll` of the suite, and closes it after the last test. */
export function useManagement(cluster: Cluster, suite: string, ...flags: string[]): ManagementStage {
  const stage = new ManagementStage(cluster);
  beforeAll(() => stage.open(suite, { flags }), 90_000);
  afterAll(() => stage.close(), 30_000);
  return stage;
}
