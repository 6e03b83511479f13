import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isPortFree } from '#local/check-port';
import { startOf } from '#local/process-identity';
import { findFreePort } from '../gateway/find-free-port.ts';
import { callTool } from './call-tool.ts';
import { server, whoami } from './manifests.ts';
import { eventually, makeWorkplace, PROGRAM, type StatusOutput, type Workplace } from './run-vmcp.ts';

let place: Workplace;
let port: number;
let backendPort: number;
const UP = ['up', 'manifests', '--detach', '--timeout', '60s'];
/** The 5 s that vmcp gives its processes to end, and extra time for a busy machine. */
const ENDS_WITHIN_MS = 30_000;

beforeAll(async () => {
  place = makeWorkplace();
  [port, backendPort] = [await findFreePort(), await findFreePort()];
  place.manifest('server.yaml', server('demo', port));
  place.manifest('whoami.yaml', whoami('whoami', 'demo', backendPort));
});
afterAll(() => place.close());

const pidsOf = ({ processes }: Pick<StatusOutput, 'processes'>) =>
  processes.flatMap(({ identity }) => (identity ? [identity.pid] : []));
const pidOf = (status: StatusOutput, name: string) =>
  status.processes.find((process) => process.name === name)?.identity?.pid;
const everythingIsGone = async (pids: number[]) => {
  await eventually(
    () => pids.filter((pid) => startOf(pid) !== undefined),
    (left) => left.length === 0,
  );
  for (const each of [port, backendPort]) expect(await isPortFree('127.0.0.1', each)).toBe(true);
};

/** Returns every file and folder below a folder, with its mode. */
function modesBelow(folder: string): { path: string; folder: boolean; mode: number }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return { path, folder: entry.isDirectory(), mode: statSync(path).mode & 0o777 };
  });
}

describe('vmcp up --detach', () => {
  it('returns when the endpoint serves, and prints its URL and the commands that connect clients', async () => {
    const { code, stdout, stderr } = await place.run(UP);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/whoami +Ready +1 /);
    expect(stdout.match(/! .*/g)).toEqual([expect.stringContaining('NoAccessControl: Anybody')]);
    expect(stdout).toContain(`claude mcp add --transport http demo http://127.0.0.1:${port}/mcp`);
    const { tokenHash } = await callTool(`http://127.0.0.1:${port}/mcp`, 'whoami_whoami');
    expect(tokenHash).toBeNull();
  });

  it('prints its state for programs', async () => {
    const status = await place.status();
    expect(status).toMatchObject({
      endpoint: `http://127.0.0.1:${port}/mcp`,
      phase: 'Ready',
      backends: [{ name: 'whoami', phase: 'Ready', tools: 1 }],
    });
    expect((await place.run(['status'])).stdout).toContain('Ready');
    const stderr = 'vmcp: there is no endpoint deno here (there is: demo)\n';
    expect(await place.run(['status', 'deno'])).toEqual({ code: 6, stdout: '', stderr });
  });

  it('restricts its files to its owner, and excludes them from version control', () => {
    const state = join(place.path, '.vmcp');
    expect(statSync(state).mode & 0o777).toBe(0o700);
    expect(place.read('.vmcp/.gitignore')).toBe('*\n');
    const entries = modesBelow(state);
    expect(entries.filter(({ folder, mode }) => mode !== (folder ? 0o700 : 0o600))).toEqual([]);
    expect(entries.some(({ path }) => path.endsWith('run-config.yaml'))).toBe(true);
  });

  it('refuses a second start on the same folder, and the first one continues', async () => {
    const { code, stderr } = await place.run(UP);
    expect(code).toBe(4);
    expect(stderr).toContain('already runs here');
    expect((await place.run(['up', 'manifests'])).code).toBe(4);
    expect((await place.status()).phase).toBe('Ready');
  });

  it('reports a running vmcp of another build, in up and status, with the remedy', async () => {
    expect((await place.run(['status'])).stderr).toBe('');
    const lock = join(place.path, '.vmcp', 'lock.json');
    const text = readFileSync(lock, 'utf8');
    writeFileSync(lock, JSON.stringify({ ...(JSON.parse(text) as object), build: 'of yesterday' }));
    const [again, status] = [await place.run(UP), await place.run(['status'])];
    writeFileSync(lock, text);
    expect([again.code, again.stderr]).toEqual([4, expect.stringContaining('as another build than this one: stop it')]);
    const program = `node ${PROGRAM}`;
    expect(status.stderr).toBe(
      `what runs here is another build than this one: "${program} down", then "${program} up manifests" runs this one\n`,
    );
  });

  it('restarts a crashed runtime, and nothing else', async () => {
    const before = await place.status();
    process.kill(pidOf(before, 'vmcp-demo')!, 'SIGKILL');
    const after = await place.statusThat(
      (status) =>
        status.phase === 'Ready' && ![undefined, pidOf(before, 'vmcp-demo')].includes(pidOf(status, 'vmcp-demo')),
    );
    expect(after.processes.find(({ name }) => name === 'vmcp-demo')?.restarts).toBe(1);
    expect(pidOf(after, 'mcp-whoami')).toBe(pidOf(before, 'mcp-whoami'));
    await callTool(`http://127.0.0.1:${port}/mcp`, 'whoami_whoami');
  });

  it('restarts a crashed backend, and the endpoint serves it again', async () => {
    const before = await place.status();
    process.kill(pidOf(before, 'mcp-whoami')!, 'SIGKILL');
    const after = await place.statusThat(
      (status) =>
        pidOf(status, 'mcp-whoami') !== undefined && pidOf(status, 'mcp-whoami') !== pidOf(before, 'mcp-whoami'),
    );
    expect(pidOf(after, 'vmcp-demo')).toBe(pidOf(before, 'vmcp-demo'));
    const ask = () => callTool(`http://127.0.0.1:${port}/mcp`, 'whoami_whoami').catch(() => undefined);
    await eventually(ask, (answer) => answer !== undefined);
  });

  it('shows the logs of its processes', async () => {
    const { stdout } = await place.run(['logs', '--lines', '5']);
    expect(stdout).toMatch(/^vmcp-demo +\| \{/m);
    expect(await place.run(['logs', 'nobody'])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('vmcp-demo'),
    });
  });

  it('ends by vmcp down, which leaves no process and no port', async () => {
    const pids = pidsOf(await place.status());
    expect(pids).toHaveLength(2);
    const { code, stdout } = await place.run(['down']);
    expect(code).toBe(0);
    expect(stdout).toContain('stopped');
    await everythingIsGone(pids);
    // The secret files are gone, too.
    expect(existsSync(join(place.path, '.vmcp/run'))).toBe(false);
  });

  it('appears as not running in status after its end, and a second down succeeds', async () => {
    const { code, stderr } = await place.run(['status']);
    expect(code).toBe(3);
    // The hint can be pasted: it has the program's command, and the folder that ran.
    expect(stderr).toContain(`start it with "node ${PROGRAM} up manifests"`);
    expect(await place.run(['down'])).toMatchObject({ code: 0, stdout: 'nothing was running\n' });
    expect(await place.run(['down', '--state', 'never'])).toMatchObject({ code: 0, stdout: 'nothing was running\n' });
    expect(existsSync(join(place.path, 'never'))).toBe(false);
  });

  it('keeps its identity and ports from start to start', async () => {
    const before = place.read('.vmcp/allotments.json');
    expect((await place.run(UP)).code).toBe(0);
    expect(JSON.parse(place.read('.vmcp/allotments.json')).uids).toEqual(JSON.parse(before).uids);
  });

  it('leaves a lock and processes when it is killed, which the next start takes over', async () => {
    const { pid } = JSON.parse(place.read('.vmcp/lock.json')) as { pid: number };
    const orphans = pidsOf(await place.status());
    process.kill(pid, 'SIGKILL');
    await eventually(
      () => startOf(pid),
      (start) => start === undefined,
    );
    expect(existsSync(join(place.path, '.vmcp/lock.json'))).toBe(true);
    expect((await place.run(UP)).code).toBe(0);
    expect(orphans.filter((orphan) => startOf(orphan) !== undefined)).toEqual([]);
    expect((await place.status()).phase).toBe('Ready');
    await place.run(['down']);
  });

  it('ends its processes on Ctrl-C before it serves, and reports it', async () => {
    place.manifest(
      'late.yaml',
      whoami('late', 'demo', await findFreePort()).replace(/command:.*/, 'command: [sleep, "60"]'),
    );
    const running = place.start(UP);
    const started = await eventually(
      () => place.glance() ?? { processes: [] },
      ({ processes }) => processes.filter(({ identity }) => identity !== undefined).length === 3,
    );
    running.signal('SIGINT');
    expect(await running.ended).toBe(5);
    expect(running.output()).toContain('broken off: what was started is stopped again');
    await everythingIsGone(pidsOf(started));
    expect(await place.run(['down'])).toMatchObject({ code: 0, stdout: 'nothing was running\n' });
    place.manifest('late.yaml', undefined);
  });
});

describe('vmcp up in the foreground', () => {
  it('prints changes, and ends everything within 5 s on Ctrl-C', async () => {
    const running = place.start(['up', 'manifests']);
    await eventually(running.output, (text) => text.includes('demo: Ready') && text.includes('Connect a client'));
    const pids = pidsOf(await place.status());
    const asked = Date.now();
    running.signal('SIGINT');
    expect(await running.ended).toBe(0);
    expect(Date.now() - asked).toBeLessThan(ENDS_WITHIN_MS);
    await everythingIsGone(pids);
    expect(existsSync(join(place.path, '.vmcp/lock.json'))).toBe(false);
  });

  it('ends everything also on repeated Ctrl-C', async () => {
    const running = place.start(['up', 'manifests']);
    await eventually(running.output, (text) => text.includes('demo: Ready'));
    const pids = pidsOf(await place.status());
    for (let presses = 0; presses < 5; presses++) {
      running.signal('SIGINT');
      await sleep(20);
    }
    expect(await running.ended).toBe(0);
    await everythingIsGone(pids);
  });

  it('stops while it still starts', async () => {
    const running = place.start(['up', 'manifests']);
    await eventually(
      () => existsSync(join(place.path, '.vmcp/lock.json')),
      (there) => there,
    );
    running.signal('SIGTERM');
    const asked = Date.now();
    await running.ended;
    expect(Date.now() - asked).toBeLessThan(ENDS_WITHIN_MS);
    await everythingIsGone([]);
  });

  it('refuses a folder without a server', async () => {
    mkdirSync(join(place.path, 'empty'));
    expect(await place.run(['up', 'empty'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no *.yaml file'),
    });
    writeFileSync(join(place.path, 'empty', 'a.yaml'), 'kind: MCPGroup\n');
    expect(await place.run(['up', 'empty'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no VirtualMCPServer'),
    });
    expect(await place.run(['up', 'nowhere'])).toMatchObject({ code: 1, stderr: expect.stringContaining('nowhere') });
  });
});
