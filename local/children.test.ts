import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { BackendProcess } from '#operator/plan/outcome';
import { systemClock } from '#operator/queue';
import { Children } from './children.ts';
import { ProgramPorts } from './program-ports.ts';
import { locateState, openState } from './state-folder.ts';
import { LocalStatusFile } from './local-status-file.ts';

const OWNER = 'MCPServer/default/b';

let folder: string;
let children: Children;
let programs: ProgramPorts;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-children-'));
  const state = locateState(join(folder, 'state'));
  openState(state);
  const statusFile = new LocalStatusFile(state, folder);
  programs = new ProgramPorts(() => undefined);
  children = new Children({ state, clock: systemClock, statusFile }, programs, () => undefined);
});
afterEach(async () => {
  await children.stopAll();
  rmSync(folder, { recursive: true, force: true });
});

const listen = (port = 0) =>
  new Promise<Server>((resolve) => {
    const server = createServer();
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
const portOf = (server: Server) => (server.address() as { port: number }).port;
const close = (server: Server) => new Promise((resolve) => server.close(resolve));
const known = () => Object.fromEntries(programs.inNamespace('default'));
const problem = (port: number) => ({
  port,
  problem: {
    reason: 'PortInUse',
    message: `port ${port} is in use by another program: stop what uses it, or set another spec.mcpPort`,
  },
});

function start(port: number, script: string): Promise<void> {
  const name = 'mcp-b';
  const child = { platform: 'local', role: 'backend', name, port, restartToken: '1' } as unknown as BackendProcess;
  const args = ['-e', script];
  return children.start(OWNER, child, { name, command: process.execPath, args, env: {}, directory: folder }, []);
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('Children', () => {
  it('holds the port of a program that was started on a free port', async () => {
    const free = await listen();
    const port = portOf(free);
    await close(free);
    await start(port, 'setInterval(() => 0, 1000)');
    expect(known()).toEqual({ b: { port } });
  });

  it('does not hold a port that another program uses, until the port is free', async () => {
    const other = await listen();
    const port = portOf(other);
    await expect(start(port, 'setInterval(() => 0, 1000)')).rejects.toMatchObject({ reason: 'PortInUse' });
    expect(known()).toEqual({ b: problem(port) });
    await close(other);
    await start(port, 'setInterval(() => 0, 1000)');
    expect(known()).toEqual({ b: { port } });
  });

  it('loses the port to another program that binds it after a crash, and starts nothing on it', async () => {
    const free = await listen();
    const port = portOf(free);
    await close(free);
    const mark = join(folder, 'end');
    const script = `require('fs').appendFileSync('starts', 'x'); setInterval(() => { if (require('fs').existsSync('${mark}')) process.exit(1); }, 20)`;
    await start(port, script);
    const other = await listen(port);
    writeFileSync(mark, '');
    await until(() => known().b?.problem !== undefined);
    expect(known()).toEqual({ b: problem(port) });
    rmSync(mark);
    await close(other);
    await until(() => known().b?.problem === undefined);
    expect(known()).toEqual({ b: { port } });
  });
});
