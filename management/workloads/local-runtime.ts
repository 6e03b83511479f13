import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { isPortFree } from '#local/check-port';
import type { StateFolder } from '#local/state-folder';
import { type LocalStatus, readLocalStatus } from '#local/local-status-file';
import { tailLog } from '#local/tail-log';
import { backendChild, runtimeChildOf } from '#operator/plan/child-names';
import { keyText, type Manifest } from '#operator/snapshot';
import { Problem } from '../problem.ts';
import type { LogOptions, MachinePorts, Seen, WorkloadRuntime } from './runtime.ts';

const HOST = '127.0.0.1';

/** Number of restarts after which a program that ends again counts as broken. */
const RESTARTS = 2;

export function localRuntime(state: StateFolder): WorkloadRuntime {
  return {
    host: HOST,
    apiGroup: DEFAULT_API_GROUP,
    hasPaths: true,
    targetHost: () => HOST,
    look() {
      const localStatus = readLocalStatus(state);
      return Promise.resolve(({ name }) => localStatus && seenOf(name, localStatus));
    },
    logs: (name, options) => logsOf(state, name, options),
  };
}

const childrenOf = (name: string): string[] => [backendChild(name), runtimeChildOf({ kind: 'MCPServer', name })];

export function localPorts(state: StateFolder, namespace: string, manifests: () => readonly Manifest[]): MachinePorts {
  return {
    namespace,
    manifests,
    holderOf(port) {
      const isOn = (address: string) => address.endsWith(`:${port}`);
      const holder = readLocalStatus(state)?.resources.find(
        ({ listen }) => listen && (isOn(listen.address) || isOn(listen.privateAddress)),
      );
      return holder && keyText(holder.key);
    },
    isFree: (port) => isPortFree(HOST, port),
  };
}

/** Names of processes do not contain the namespace. */
function seenOf(workload: string, { processes }: LocalStatus): Seen {
  const names = childrenOf(workload);
  const own = processes.filter(({ name }) => names.includes(name));
  const crashed = own.find(({ state, restarts }) => state === 'waiting' && restarts >= RESTARTS);
  return { isRunning: own.some(({ state }) => state === 'running'), crashed: crashed?.lastEnd };
}

function logsOf(state: StateFolder, name: string, options: LogOptions): Promise<AsyncIterable<string>> {
  const children = childrenOf(name);
  const pathOf = (child: string): string => join(state.logs, `${child}.log`);
  // A running process without output has an empty log.
  const known = children.find((child) => existsSync(pathOf(child))) ?? children.find((child) => runs(child, state));
  if (known !== undefined) return Promise.resolve(tailLog(pathOf(known), options));
  const why = `there is no log of "${name}" yet: it has not run here, or runs inside of its server`;
  return Promise.reject(new Problem('not_found', why));
}

const runs = (child: string, state: StateFolder): boolean =>
  readLocalStatus(state)?.processes.some(({ name }) => name === child) === true;
