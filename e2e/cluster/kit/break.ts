import { readdirSync, readFileSync } from 'node:fs';
import { awaitApiServer, type ControlPlaneProcess, launchControlPlane } from './control-plane.ts';
import { nodesOf, type ClusterFolders, defaultFolders } from './cluster-folders.ts';
import { halt } from './processes.ts';
import { startNode } from './start-node.ts';

/** Injects faults into the cluster of this machine, and repairs them. */
export interface Breakable {
  /**
   * Kills a process of the control plane, and restarts it after so many milliseconds. Returns when the API server is
   * ready.
   */
  restart(name: ControlPlaneProcess, away?: number): Promise<void>;
  /** Kills the processes of a pod's containers without notice to the cluster. @throws if none runs */
  killPod(name: string): void;
  /** Kills all processes of a node at once, as a power failure does. */
  killNode(name: string): Promise<void>;
  /** Starts a killed node; its pods are gone. */
  startNode(name: string): void;
}

/** Returns undefined if the kubeconfig is that of another cluster. */
export function breakable(kubeconfig: string, places: ClusterFolders = defaultFolders()): Breakable | undefined {
  if (kubeconfig !== places.kubeconfig) return undefined;
  return {
    async restart(name, away = 0) {
      await halt(places, [name], 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, away));
      launchControlPlane(places, name);
      await awaitApiServer(places);
    },
    killPod(name) {
      const found = containerProcesses(name);
      if (found.length === 0) throw new Error(`no process of the pod ${name} runs on this machine`);
      for (const pid of found) process.kill(pid, 'SIGKILL');
    },
    killNode: (name) => halt(places, [name], 'SIGKILL'),
    startNode(name) {
      for (const node of nodesOf(9)) if (node.name === name) startNode(places, node);
    },
  };
}

/** Containers have the name of their pod as HOSTNAME; the pause process has not. */
function containerProcesses(pod: string): number[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return pids.filter((pid) => environmentOf(pid).includes(`HOSTNAME=${pod}`)).map(Number);
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    // The process has just ended.
    return [];
  }
}
