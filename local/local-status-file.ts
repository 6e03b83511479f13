import { z } from 'zod';
import { Status } from '#crds/kinds/status';
import { keyText, ResourceKey } from '#operator/snapshot';
import { codeOf, readIfThere, writeFileAtomic } from '#lib/files/write-file';
import { readLock } from './lock.ts';
import { Problem } from './resource.ts';
import { ProcessState } from './run-process.ts';
import type { StateFolder } from './state-folder.ts';

const Listen = z.object({ address: z.string(), privateAddress: z.string() });
export type Listen = z.infer<typeof Listen>;

const ResourceStatus = z.object({
  key: ResourceKey,
  status: Status,
  /** Always true for a VirtualMCPServer; true for an MCPServer that is served on its own. */
  isEndpoint: z.boolean(),
  /** Address of the process, `host:port`; absent while it has none, and in a cluster. */
  listen: Listen.exactOptional(),
});
type ResourceStatus = z.infer<typeof ResourceStatus>;

const LocalStatus = z.object({
  pid: z.int().positive(),
  folder: z.string(),
  /** Every resource has been reconciled once. */
  settled: z.boolean(),
  problems: z.array(Problem),
  resources: z.array(ResourceStatus),
  processes: z.array(ProcessState),
});
export type LocalStatus = z.infer<typeof LocalStatus>;

/** The running vmcp writes another format. */
export class OtherVersion extends Error {
  override readonly name = 'OtherVersion';
}

/** Returns undefined when the lock holder has not reported, or there is none. @throws OtherVersion */
export function readLocalStatus(state: StateFolder): LocalStatus | undefined {
  const holder = readLock(state)?.pid;
  const text = readIfThere(state.status);
  if (holder === undefined || text === undefined) return undefined;
  const { data: localStatus } = LocalStatus.safeParse(JSON.parse(text));
  if (!localStatus) throw new OtherVersion(`${state.status} is of another version of vmcp`);
  return localStatus.pid === holder ? localStatus : undefined;
}

/** Collects the public status in a file, and for listeners in this process. */
export class LocalStatusFile {
  readonly #state: StateFolder;
  readonly #resources = new Map<string, ResourceStatus>();
  readonly #processes = new Map<string, ProcessState>();
  readonly #listeners: ((localStatus: LocalStatus) => void)[] = [];
  readonly #folder: string;
  /** Keyed by the path of the failed step. */
  readonly #failures = new Map<string, Problem>();
  #problems: Problem[] = [];
  #settled = false;

  constructor(state: StateFolder, folder: string) {
    this.#state = state;
    this.#folder = folder;
    this.#publish();
  }

  get localStatus(): LocalStatus {
    return {
      pid: process.pid,
      folder: this.#folder,
      settled: this.#settled,
      problems: [...this.#problems, ...this.#failures.values()],
      resources: [...this.#resources.values()],
      processes: [...this.#processes.values()],
    };
  }

  listen(listener: (localStatus: LocalStatus) => void): void {
    this.#listeners.push(listener);
  }

  statusOf(key: ResourceKey): Status | undefined {
    return this.#resources.get(keyText(key))?.status;
  }

  setStatus(key: ResourceKey, status: Status | undefined, isEndpoint: boolean, listen?: Listen): void {
    if (status) this.#resources.set(keyText(key), { key, status, isEndpoint, ...(listen && { listen }) });
    else this.#resources.delete(keyText(key));
    this.#publish();
  }

  setProblems(problems: Problem[]): void {
    this.#problems = problems;
    this.#publish();
  }

  setProcess(state: ProcessState): void {
    if (state.state === 'stopped') this.#processes.delete(state.name);
    else this.#processes.set(state.name, state);
    this.#publish();
  }

  /** Serves contexts where an error would end vmcp, such as a timer. A failure stays in the report until the step succeeds. */
  attempt(path: string, step: () => void): void {
    const former = this.#failures.get(path)?.message;
    this.#note(path, step);
    if (this.#failures.get(path)?.message !== former) this.#publish();
  }

  settle(): void {
    this.#settled = true;
    this.#publish();
  }

  #publish(): void {
    const { status } = this.#state;
    const failed = this.#failures.has(status);
    const written = this.#note(status, () => {
      const inFile = { ...this.localStatus, problems: this.localStatus.problems.filter(({ file }) => file !== status) };
      return writeFileAtomic(status, `${JSON.stringify(inFile, null, 2)}\n`);
    });
    if (written === false && !failed) return;
    const { localStatus } = this;
    for (const listener of this.#listeners) listener(localStatus);
  }

  /** Returns undefined when the step failed. */
  #note<T>(path: string, step: () => T): T | undefined {
    try {
      const result = step();
      this.#failures.delete(path);
      return result;
    } catch (problem) {
      const message = codeOf(problem) ?? (problem instanceof Error ? problem.message : String(problem));
      this.#failures.set(path, {
        file: path,
        line: 1,
        path: '',
        message: `could not be brought up to date: ${message}`,
      });
      return undefined;
    }
  }
}
