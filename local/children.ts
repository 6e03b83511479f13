import { join } from 'node:path';
import { Waiting } from '#operator/errors';
import type { BackendProcess, RuntimeProcess } from '#operator/plan/outcome';
import type { Clock } from '#operator/queue';
import { parseKey, runtimeName } from '#operator/snapshot';
import { isListening, isPortFree } from './check-port.ts';
import { recordChildren } from './children-record.ts';
import { openLogFile } from './log-file.ts';
import type { PortHolder } from './port-claims.ts';
import type { ProgramPorts } from './program-ports.ts';
import { type ProcessSpec, SupervisedProcess } from './run-process.ts';
import type { StateFolder } from './state-folder.ts';
import type { Listen, LocalStatusFile } from './local-status-file.ts';

/** Milliseconds that a new runtime waits for the backends started with it, so that its first probe finds them. */
const BACKENDS_START = 5000;
/** Milliseconds until a port in use is probed again; the system sends no event when a port becomes free. */
const PORT_AGAIN = 2000;
/** Milliseconds between two probes of the port of a program that has ended. */
const PORT_WATCH = 250;
/** Number of probes of a predecessor's port, 50 ms apart, until it is free. */
const RELEASE_TRIES = 10;

export type LocalChild = RuntimeProcess | BackendProcess;

interface Child {
  owner: string;
  child: LocalChild;
  /** A child with another token is another process. */
  token: string;
  process: SupervisedProcess;
}

function tokenOf(child: LocalChild): string {
  if (child.role === 'backend') return child.restartToken;
  return `${child.host} ${child.port} ${child.privatePort} ${child.tls ?? ''} ${child.restartedAt ?? ''}`;
}

function portsOf(child: LocalChild): { host: string; port: number }[] {
  if (child.role === 'backend') return [{ host: '127.0.0.1', port: child.port }];
  return [
    { host: child.host, port: child.port },
    { host: '127.0.0.1', port: child.privatePort },
  ];
}

function fieldOf(owner: string, { role }: LocalChild): string {
  if (role === 'backend') return 'spec.mcpPort';
  return parseKey(owner).kind === 'MCPServer' ? 'spec.proxyPort' : 'spec.listen.port';
}

/** Children retries without a change to the resource, because the port may become free. */
export class PortTaken extends Waiting {
  readonly port: number;
  /** Clients know the port. */
  readonly isPublic: boolean;

  constructor(port: number, isPublic: boolean, message: string) {
    super('PortInUse', message, { retryIn: PORT_AGAIN });
    this.port = port;
    this.isPublic = isPublic;
  }
}

/** Groups processes by the resource that owns them. */
export class Children {
  readonly #state: StateFolder;
  readonly #clock: Clock;
  readonly #statusFile: LocalStatusFile;
  readonly #runtimeEnded: (owner: string) => void;
  readonly #children = new Map<string, Child>();
  readonly programs: ProgramPorts;
  #closed = false;

  /** Passes `runtimeEnded` the owner of a runtime that ended on its own, before its restart. */
  constructor(
    { state, clock, statusFile }: { state: StateFolder; clock: Clock; statusFile: LocalStatusFile },
    programs: ProgramPorts,
    runtimeEnded: (owner: string) => void,
  ) {
    this.programs = programs;
    this.#state = state;
    this.#clock = clock;
    this.#statusFile = statusFile;
    this.#runtimeEnded = runtimeEnded;
  }

  isCurrent(child: LocalChild): boolean {
    return this.#children.get(child.name)?.token === tokenOf(child);
  }

  /** Returns undefined when the runtime was started without a restart request. */
  restartedAt(name: string): string | undefined {
    const child = this.#children.get(name)?.child;
    return child?.role === 'runtime' ? child.restartedAt : undefined;
  }

  failuresIn(namespace: string): [name: string, failure: string][] {
    return [...this.#children.values()].flatMap(({ owner, child, process: { state } }) => {
      const key = parseKey(owner);
      if (child.role !== 'runtime' || key.namespace !== namespace || state.failure === undefined) return [];
      return [[runtimeName(key), `it ${state.lastEnd ?? 'ended'}: ${state.failure}`]];
    });
  }

  holders(): PortHolder[] {
    return [...this.#children.values()].flatMap(({ owner, child }): PortHolder[] => {
      const listening: PortHolder = { owner, role: child.role, port: child.port };
      return child.role === 'backend' ? [listening] : [listening, { owner, role: 'private', port: child.privatePort }];
    });
  }

  addressOf(name: string): Listen | undefined {
    const child = this.#children.get(name)?.child;
    if (child?.role !== 'runtime') return undefined;
    return { address: `${child.host}:${child.port}`, privateAddress: `127.0.0.1:${child.privatePort}` };
  }

  /** Waits for the backends on the `awaited` ports, but not forever. @throws PortTaken; the predecessor then keeps running */
  async start(owner: string, child: LocalChild, spec: ProcessSpec, awaited: number[]): Promise<void> {
    await this.#checkPorts(owner, child);
    await this.#replace(owner, child);
    this.#refuseWhenClosed();
    const deadline = this.#clock.now() + BACKENDS_START;
    await Promise.all(awaited.map((port) => this.#listens(port, deadline)));
    this.#refuseWhenClosed();
    const process = new SupervisedProcess(spec, {
      clock: this.#clock,
      openLog: () => openLogFile(join(this.#state.logs, `${child.name}.log`)),
      ...(child.role === 'backend' && { mayStart: () => this.#hasPort(owner, child) }),
      changed: (state) => {
        this.#statusFile.setProcess(state);
        this.#record();
        if (state.state !== 'waiting') return;
        if (child.role === 'runtime') this.#runtimeEnded(owner);
        else if (!child.container) void this.#watchPort(owner, child);
      },
    });
    this.#children.set(child.name, { owner, child, token: tokenOf(child), process });
    if (child.role === 'backend') this.programs.hold(owner, child.port);
    this.#record();
  }

  async stopOthers(owner: string, kept: string[]): Promise<void> {
    const gone = [...this.#children.entries()].filter(([name, one]) => one.owner === owner && !kept.includes(name));
    if (gone.some(([, { child }]) => child.role === 'backend')) this.programs.forget(owner);
    await Promise.all(gone.map(([name]) => this.#stopOne(name)));
  }

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

  /** @throws PortTaken when another program binds the port of a backend in the meantime */
  async #replace(owner: string, child: LocalChild): Promise<void> {
    if (!this.#children.has(child.name)) return;
    await this.#stopOne(child.name);
    if (child.role !== 'backend') return;
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      if (await isPortFree('127.0.0.1', child.port)) return;
      await new Promise<void>((resolve) => this.#clock.after(50, resolve));
    }
    await this.#checkPorts(owner, child);
  }

  /** Checks the port before the program starts; until then, no runtime calls it. */
  async #hasPort(owner: string, child: LocalChild): Promise<boolean> {
    const isFree = await isPortFree('127.0.0.1', child.port);
    if (this.#children.get(child.name)?.child !== child) return isFree;
    if (isFree) this.programs.hold(owner, child.port);
    else this.programs.lose(owner, child.port, this.#takenMessage(owner, child, 'by another program'));
    return isFree;
  }

  /** Probes the port until the program is restarted. */
  async #watchPort(owner: string, child: LocalChild): Promise<void> {
    const isWaiting = () => {
      const present = this.#children.get(child.name);
      return present?.child === child && present.process.state.state === 'waiting';
    };
    while (isWaiting() && (await this.#hasPort(owner, child)))
      await new Promise<void>((resolve) => this.#clock.after(PORT_WATCH, resolve));
  }

  /** Counts the predecessor's ports as free. */
  async #checkPorts(owner: string, child: LocalChild): Promise<void> {
    const present = this.#children.get(child.name);
    const former = present?.process.state.state === 'running' ? portsOf(present.child).map(({ port }) => port) : [];
    for (const { host, port } of portsOf(child)) {
      if (former.includes(port) || (await isPortFree(host, port))) continue;
      const message = this.#portMessage(owner, child, port);
      if (child.role === 'backend') this.programs.lose(owner, port, message);
      throw new PortTaken(port, child.role === 'runtime' && port === child.port, message);
    }
  }

  #portMessage(owner: string, child: LocalChild, port: number): string {
    const user = [...this.#children.values()].find((one) => portsOf(one.child).some((used) => used.port === port));
    const by = user ? `by ${user.child.name} of this folder` : 'by another program';
    if (child.role === 'runtime' && port !== child.port)
      return `private port ${port} is in use ${by}: another one is given in ${PORT_AGAIN / 1000} s`;
    return this.#takenMessage(owner, child, by);
  }

  #takenMessage(owner: string, child: LocalChild, by: string): string {
    return `port ${child.port} is in use ${by}: stop what uses it, or set another ${fieldOf(owner, child)}`;
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
    this.#statusFile.attempt(this.#state.children, () => recordChildren(this.#state, running));
  }
}
