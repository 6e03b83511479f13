import { join } from 'node:path';
import { Waiting } from '#operator/errors';
import type { BackendProcess, RuntimeProcess } from '#operator/plan/outcome';
import type { Clock } from '#operator/queue';
import { isListening, isPortFree } from './check-port.ts';
import { recordChildren } from './children-record.ts';
import { openLogFile } from './log-file.ts';
import { type ProcessSpec, SupervisedProcess } from './run-process.ts';
import type { StateFolder } from './state-folder.ts';
import type { StatusBoard } from './status-board.ts';

/** How long a new runtime waits for the backends that were started with it, so that its first look finds them. */
const BACKENDS_START = 5000;
/** A port that is taken is looked at again after so many milliseconds: nobody tells when it becomes free. */
const PORT_AGAIN = 2000;

export type LocalChild = RuntimeProcess | BackendProcess;

interface Child {
  owner: string;
  child: LocalChild;
  /** A child with another one is another process. */
  token: string;
  process: SupervisedProcess;
}

function tokenOf(child: LocalChild): string {
  if (child.role === 'backend') return child.restartToken;
  return `${child.host} ${child.port} ${child.privatePort} ${child.restartedAt ?? ''}`;
}

function portsOf(child: LocalChild): { host: string; port: number }[] {
  if (child.role === 'backend') return [{ host: '127.0.0.1', port: child.port }];
  return [
    { host: child.host, port: child.port },
    { host: '127.0.0.1', port: child.privatePort },
  ];
}

const REMEDY = {
  runtime:
    'stop what uses it, or set another port in incomingAuth.resourceUrl (http://127.0.0.1:<port>/mcp), of an MCPServer in spec.proxyPort',
  backend: 'stop what uses it, or set another spec.mcpPort',
};

/** The processes of one `vmcp up`, by the resource that owns them. */
export class Children {
  readonly #state: StateFolder;
  readonly #clock: Clock;
  readonly #board: StatusBoard;
  readonly #runtimeEnded: (owner: string) => void;
  readonly #children = new Map<string, Child>();
  #closed = false;

  /** `runtimeEnded` is called with the owner of a runtime that ended by itself, before it is started again. */
  constructor(state: StateFolder, clock: Clock, board: StatusBoard, runtimeEnded: (owner: string) => void) {
    this.#state = state;
    this.#clock = clock;
    this.#board = board;
    this.#runtimeEnded = runtimeEnded;
  }

  /** Whether this very child runs, or is between two attempts. */
  isCurrent(child: LocalChild): boolean {
    return this.#children.get(child.name)?.token === tokenOf(child);
  }

  /** The restart since which the runtime of that name runs; undefined where none was asked for. */
  restartedAt(name: string): string | undefined {
    const child = this.#children.get(name)?.child;
    return child?.role === 'runtime' ? child.restartedAt : undefined;
  }

  /**
   * Starts a child, in place of its predecessor if it has one, when the backends on the `awaited` ports listen or have had
   * their time. Throws Waiting when its port is taken.
   */
  async start(owner: string, child: LocalChild, spec: ProcessSpec, awaited: number[]): Promise<void> {
    await this.#stopOne(child.name);
    this.#refuseWhenClosed();
    for (const { host, port } of portsOf(child)) {
      if (await isPortFree(host, port)) continue;
      throw new Waiting('PortInUse', this.#portMessage(child, port), { retryIn: PORT_AGAIN });
    }
    const deadline = this.#clock.now() + BACKENDS_START;
    await Promise.all(awaited.map((port) => this.#listens(port, deadline)));
    this.#refuseWhenClosed();
    const process = new SupervisedProcess(spec, {
      clock: this.#clock,
      openLog: () => openLogFile(join(this.#state.logs, `${child.name}.log`)),
      changed: (state) => {
        this.#board.setProcess(state);
        this.#record();
        if (state.state === 'waiting' && child.role === 'runtime') this.#runtimeEnded(owner);
      },
    });
    this.#children.set(child.name, { owner, child, token: tokenOf(child), process });
    this.#record();
  }

  /** Stops the children of a resource, except those named. */
  async stopOthers(owner: string, kept: string[]): Promise<void> {
    const gone = [...this.#children.entries()].filter(([name, one]) => one.owner === owner && !kept.includes(name));
    await Promise.all(gone.map(([name]) => this.#stopOne(name)));
  }

  /** Ends all, and starts none any more. */
  async stopAll(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#children.keys()].map((name) => this.#stopOne(name)));
  }

  async #stopOne(name: string): Promise<void> {
    const present = this.#children.get(name);
    if (!present) return;
    this.#children.delete(name);
    await present.process.stop();
    this.#record();
  }

  #portMessage(child: LocalChild, port: number): string {
    const user = [...this.#children.values()].find((one) => portsOf(one.child).some((used) => used.port === port));
    const by = user ? `by ${user.child.name} of this folder` : 'by another program';
    return `port ${port} is in use ${by}: ${REMEDY[child.role]}`;
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new Error('vmcp stops: nothing is started any more');
  }

  async #listens(port: number, deadline: number): Promise<void> {
    while (!this.#closed && this.#clock.now() < deadline && !this.#hasCrashed(port) && !(await isListening(port))) {
      await new Promise<void>((resolve) => this.#clock.after(50, resolve));
    }
  }

  #hasCrashed(port: number): boolean {
    const present = [...this.#children.values()].find(({ child }) => child.role === 'backend' && child.port === port);
    return present?.process.state.lastEnd !== undefined;
  }

  #record(): void {
    const running = [...this.#children.values()].flatMap(({ process }) => {
      const { name, identity } = process.state;
      return identity ? [{ name, ...identity }] : [];
    });
    this.#board.attempt(this.#state.children, () => recordChildren(this.#state, running));
  }
}
