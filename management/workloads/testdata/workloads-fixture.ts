import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locateState, type StateFolder } from '#local/state-folder';
import { localServices } from '../../local/local-services.ts';
import type { Services } from '../../services.ts';
import { LocalSecrets } from '../../secrets/local-secrets.ts';

export const GROUP = `apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: { name: tools }
`;

/** A workload as users write it. */
export const SEARCH = `# What we search with.
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer
metadata:
  name: search # the name
  labels: { team: web }
spec:
  groupRef: tools
  image: example/search:1
  transport: streamable-http
  env:
    - { name: LEVEL, value: debug } # while we look for the fault
  secrets:
    - { name: company, key: token, targetEnvName: TOKEN }
`;

export interface WorkloadsFixture {
  folder: string;
  /** Empty home of the user. */
  home: string;
  state: StateFolder;
  services: (namespace?: string) => Services;
  /** Recorded internal failures. */
  failures: string[];
  write(file: string, text: string): void;
  read(file: string): string;
  files(): string[];
  remove(): void;
}

/** Opens a manifest folder on which nothing runs, with its services. */
export function openWorkloadsFixture(
  manifests: Record<string, string> = { 'group.yaml': GROUP, 'search.yaml': SEARCH },
  more: NodeJS.ProcessEnv = {},
) {
  const path = mkdtempSync(join(tmpdir(), 'vmcp-workloads-'));
  const folder = join(path, 'manifests');
  mkdirSync(folder);
  const state = locateState(join(path, 'state'));
  mkdirSync(state.path);
  const failures: string[] = [];
  const home = join(path, 'home');
  mkdirSync(home);
  const environment = { HOME: home, ...more };
  const services = localServices({
    state,
    folder,
    secrets: new LocalSecrets({ state, environment }),
    environment,
    version: '0.0.0',
    onFailure: (text) => void failures.push(text),
  });
  const fixture: WorkloadsFixture = {
    folder,
    home,
    state,
    services: (namespace = 'default') => services(namespace),
    failures,
    write: (file, text) => writeFileSync(join(folder, file), text),
    read: (file) => (existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : ''),
    files: () => readdirSync(folder).sort(),
    remove: () => rmSync(path, { recursive: true }),
  };
  for (const [file, text] of Object.entries(manifests)) fixture.write(file, text);
  return fixture;
}
