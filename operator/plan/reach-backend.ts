import { transportOf } from '#crds/kinds/index';
import { Stalled, Waiting } from '../errors.ts';
import type { ClusterFacts, LocalFacts, Snapshot } from '../snapshot.ts';
import { checkProgramPort } from './check-port.ts';
import { backendChild, podsOf } from './child-names.ts';
import { type Command, containerCommand, processCommand, secretVariables } from './container-command.ts';
import type { FileList } from './file-list.ts';
import { restartedAt } from './object-parts.ts';
import type { BackendSpec } from './find-group-members.ts';

/** Default of `mcpPort`: the port of a program in a container. */
export const CONTAINER_PORT = 8080;

export type Reach =
  | { transport: 'streamable-http' | 'sse'; url: string; pods_host?: string }
  | (Command & {
      transport: 'stdio';
      env_files: Record<string, string>;
      stdio_process: 'shared' | 'perSession';
      restarted_at?: string;
    });

export function shownUrlOf(spec: BackendSpec, reach: Reach): string {
  if (reach.transport !== 'stdio') return reach.url;
  return `stdio:${spec.command?.[0] ?? spec.image ?? ''}`;
}

function pathOf(spec: BackendSpec): string {
  return spec.path ?? (transportOf(spec) === 'sse' ? '/sse' : '/mcp');
}

/** Returns the program of a backend on this machine: the written command, else the image in a container engine. */
export function localCommand(
  name: string,
  spec: BackendSpec,
  port: number | undefined,
  local: LocalFacts,
  snapshot: Snapshot,
): Command {
  if (spec.command) return processCommand(spec.command, spec, port);
  if (!local.containerEngine) {
    const remedy = 'install podman, docker or nerdctl, or write command';
    throw new Stalled(
      'NoContainerEngine',
      `MCPServer "${name}" runs an image, and there is no container engine: ${remedy}`,
    );
  }
  return containerCommand(local.containerEngine, name, spec, port, local, snapshot);
}

/** Returns the port on this machine of an HTTP backend. @throws Waiting */
export function localPort(name: string, spec: BackendSpec, local: LocalFacts): number {
  checkProgramPort(name, local);
  const written = spec.command ? spec.mcpPort : undefined;
  const port = written ?? local.backendPorts[name];
  if (port !== undefined) return port;
  throw new Waiting('PortNotAllocated', `MCPServer "${name}" has no port on this machine yet`);
}

function reachLocal(name: string, spec: BackendSpec, local: LocalFacts, snapshot: Snapshot, files: FileList): Reach {
  const transport = transportOf(spec);
  if (transport !== 'stdio') {
    return { transport, url: `http://127.0.0.1:${localPort(name, spec, local)}${pathOf(spec)}` };
  }
  const secrets = Object.entries(secretVariables(spec)).map(
    ([variable, reference]) => [variable, files.secret(reference, `MCPServer "${name}" secrets`)] as const,
  );
  const manifest = snapshot.mcpServers[name];
  const at = manifest === undefined ? '' : restartedAt(manifest);
  return {
    transport,
    ...localCommand(name, spec, undefined, local, snapshot),
    env_files: Object.fromEntries(secrets),
    stdio_process: spec.stdioProcess,
    ...(at === '' ? {} : { restarted_at: at }),
  };
}

function reachInCluster(name: string, spec: BackendSpec, namespace: string, cluster: ClusterFacts): Reach {
  if (spec.volumes && spec.volumes.length > 0) checkHostAccess(name, [{ field: 'volumes', what: 'hostPath' }], cluster);
  if (spec.image === undefined) {
    const message = `MCPServer "${name}" has only a command, which a cluster cannot start: write image, or remoteUrl`;
    throw new Stalled('ImageNeeded', message);
  }
  if (spec.stdioProcess === 'perSession') {
    const message = `MCPServer "${name}": stdioProcess perSession is for local mode: write shared`;
    throw new Stalled('PerSessionNeedsLocalMode', message);
  }
  const written = transportOf(spec);
  const transport = written === 'sse' ? 'sse' : 'streamable-http';
  // A bridge with its own port and path serves a stdio program.
  const place = written === 'stdio' ? `${CONTAINER_PORT}/mcp` : `${spec.mcpPort ?? CONTAINER_PORT}${pathOf(spec)}`;
  const child = backendChild(name);
  const pods = (spec.backendReplicas ?? 1) > 1 ? { pods_host: `${podsOf(child)}.${namespace}.svc` } : {};
  return { transport, url: `http://${child}.${namespace}.svc:${place}`, ...pods };
}

/** @throws Stalled or Waiting if the runtime cannot reach the backend as written */
export function reachBackend(name: string, spec: BackendSpec, snapshot: Snapshot, files: FileList): Reach {
  if (spec.remoteUrl !== undefined) {
    return { transport: transportOf(spec) === 'sse' ? 'sse' : 'streamable-http', url: spec.remoteUrl };
  }
  if (snapshot.platform.mode === 'local') return reachLocal(name, spec, snapshot.platform, snapshot, files);
  return reachInCluster(name, spec, snapshot.namespace, snapshot.platform);
}

export interface HostAccess {
  field: string;
  what: 'hostPath' | 'privileged';
}

/** Verifies that the operator's administrator has allowed a pod's access to its node. @throws Stalled */
export function checkHostAccess(name: string, access: HostAccess[], { allowHostPaths }: ClusterFacts): void {
  const [first] = access;
  if (allowHostPaths || !first) return;
  const where = access.map(({ field }) => field).join(', ');
  const thing = first.what === 'hostPath' ? 'folders of the node' : 'privileged containers';
  const message = `MCPServer "${name}": ${where}: ${thing} are not allowed here: remove it; only the administrator of the operator can allow it`;
  throw new Stalled('HostPathNotAllowed', message);
}
