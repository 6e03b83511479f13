import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { until } from '../gateway/until.ts';
import { PYTHON_INSTALLED } from '../sdk-servers/python-sdk.ts';
import { sdkServerCommand, startSdkServer, type Sdk, type SdkServer } from '../sdk-servers/start-sdk-server.ts';

/** `killed`: killed repeatedly. `hanging`: stopped once, and continued. */
export type Role = 'steady' | 'killed' | 'hanging';

type Transport = 'http' | 'sse' | 'stdio';

export interface Member {
  name: string;
  role: Role;
  /** A shared stdio process has one client for all sessions, so it cannot ask the client of a call. */
  asksClient: boolean;
  backend: RunConfigDocument['backends'][number];
  /** Kills the member, and resolves when it serves again. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
  /** Sends a signal to the process. */
  signal(name: NodeJS.Signals): void;
}

const DOWN_MS = 2_000;

/** `sessions`: each SDK and transport. `modern`: only members with 2026-07-28, over HTTP. `bridges`: members with one revision each. */
export type Group = 'sessions' | 'modern' | 'bridges';

/** `modern`: the 2.x line of the SDK, serving 2026-07-28 alone. */
type Spec = readonly [name: string, sdk: Sdk | 'modern', transport: Transport, role: Role, ...groups: Group[]];

const SPECS: readonly Spec[] = [
  ['old-http', 'old', 'http', 'steady', 'sessions', 'bridges'],
  ['new-http', 'new', 'http', 'steady', 'sessions', 'modern'],
  ['new-http-2', 'new', 'http', 'steady', 'modern'],
  ['modern-http', 'modern', 'http', 'steady', 'bridges'],
  ['old-sse', 'old', 'sse', 'steady', 'sessions', 'bridges'],
  ['old-stdio', 'old', 'stdio', 'steady', 'sessions', 'bridges'],
  ['new-stdio', 'new', 'stdio', 'steady', 'sessions'],
  ['python-http', 'python', 'http', 'steady', 'sessions'],
  ['killed-http', 'old', 'http', 'killed', 'sessions', 'bridges'],
  ['killed-sse', 'old', 'sse', 'killed', 'sessions'],
  ['killed-stdio', 'new', 'stdio', 'killed', 'sessions'],
  ['killed-new', 'new', 'http', 'killed', 'modern'],
  ['killed-modern', 'modern', 'http', 'killed', 'bridges'],
  ['hanging-http', 'new', 'http', 'hanging', 'sessions', 'modern'],
  ['hanging-old', 'old', 'http', 'hanging', 'bridges'],
];

/** Starts the backends of these roles. The gateway starts those with stdio. */
export async function startMembers(group: Group, folder: string, roles: readonly Role[]): Promise<Member[]> {
  const canRun = (sdk: Spec[1]) => sdk !== 'python' || existsSync(PYTHON_INSTALLED);
  const chosen = SPECS.filter(
    ([, sdk, , role, ...groups]) => groups.includes(group) && roles.includes(role) && canRun(sdk),
  );
  return Promise.all(
    chosen.map(([name, sdk, transport, role]) =>
      transport === 'stdio'
        ? Promise.resolve(stdioMember(name, sdkOf(sdk), role, folder))
        : httpMember(name, sdk, transport, role),
    ),
  );
}

const sdkOf = (sdk: Spec[1]): Sdk => (sdk === 'modern' ? 'new' : sdk);

async function httpMember(name: string, of: Spec[1], transport: 'http' | 'sse', role: Role): Promise<Member> {
  const [sdk, modernOnly] = [sdkOf(of), of === 'modern'];
  const options = { transport, modernOnly, eventStore: sdk !== 'python' && transport === 'http' };
  let server: SdkServer = await startSdkServer(sdk, options);
  const { url, port } = server;
  return {
    name,
    role,
    asksClient: true,
    backend: { name, transport: transport === 'http' ? 'streamable-http' : 'sse', url },
    async killAndRestart() {
      await server.kill();
      await sleep(DOWN_MS);
      server = await startSdkServer(sdk, { ...options, port });
    },
    stop: () => server.stop(),
    signal: (signal) => void process.kill(server.pid, signal),
  };
}

function stdioMember(name: string, sdk: Sdk, role: Role, folder: string): Member {
  const pidFile = join(folder, `${name}.pid`);
  const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0);
  return {
    name,
    role,
    asksClient: false,
    backend: { name, transport: 'stdio', ...sdkServerCommand(sdk, { pidFile }) },
    async killAndRestart() {
      const killed = pid();
      process.kill(killed, 'SIGKILL');
      await until(`another process of ${name}`, () => pid() !== killed && pid() !== 0);
    },
    // The member ends with the gateway.
    stop: () => Promise.resolve(),
    signal: (signal) => void process.kill(pid(), signal),
  };
}
