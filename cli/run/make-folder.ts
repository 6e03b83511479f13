import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_API_GROUP, VERSION } from '#crds/kinds/index';
import { listManifestFiles, readFolderContent } from '#local/manifest-folder';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** Unless the folder has manifests. Returns the removal; undefined if it existed. @throws CliError when it cannot be created */
export function makeFolder(folder: string, group: string): (() => void) | undefined {
  if (existsSync(folder) && listManifestFiles(folder).length > 0) return undefined;
  const isNew = !existsSync(folder);
  const file = join(folder, 'vmcp.yaml');
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, `${endpointOf(group)}${groupText(group)}`, { flag: 'wx' });
  } catch (cause) {
    throw new CliError(EXIT_CODES.failed, `${file} cannot be written: name another folder with --folder`, { cause });
  }
  return () => {
    rmSync(file, { force: true });
    if (isNew && readdirSync(folder).length === 0) rmSync(folder, { recursive: true });
  };
}

function endpointOf(group: string, namespace = 'default'): string {
  const apiVersion = `${DEFAULT_API_GROUP}/${VERSION}`;
  return `# One endpoint for all servers of a group. "vmcp validate" says what is wrong, "vmcp up" follows changes.
apiVersion: ${apiVersion}
kind: VirtualMCPServer
metadata:
  name: ${group}${namespace === 'default' ? '' : `\n  namespace: ${namespace}`}
spec:
  config:
    groupRef: ${group}
  incomingAuth:
    # Everybody on this machine gets in, and nobody else: it listens on 127.0.0.1. "type: oidc" asks for tokens.
    type: anonymous
`;
}

const groupText = (group: string): string => `---
apiVersion: ${DEFAULT_API_GROUP}/${VERSION}
kind: MCPGroup
metadata:
  name: ${group}
`;

/** Returns its file; undefined if the name is taken. */
export function addEndpoint(folder: string, group: string, namespace: string): string | undefined {
  const isTaken = readFolderContent(listManifestFiles(folder)).manifests.some(
    // Process names do not include a namespace.
    ({ kind, metadata }) => kind === 'VirtualMCPServer' && metadata.name === group,
  );
  const file = join(folder, `virtualmcpserver-${group}.yaml`);
  if (isTaken || existsSync(file)) return undefined;
  writeFileSync(file, endpointOf(group, namespace), { flag: 'wx' });
  return file;
}
