import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RUNTIME_NODE_OPTIONS } from '#local/runtime-node-options';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { runtimeProgram, startGateway, type Gateway, type GatewayConfig } from '../gateway/start-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from './gateway-to.ts';
import { serveHeld } from './serve-held.ts';

afterEach(closeAll);

/** Starts the runtime in a separate process, as the operator does. */
async function startProcess(
  backends: Parameters<typeof configTo>[0],
  more: Partial<GatewayConfig> = {},
): Promise<Gateway> {
  const gateway = await startGateway(configTo(backends, more));
  closing({ close: () => gateway.stop() });
  return gateway;
}

describe('SIGTERM', () => {
  it('lets running calls finish, refuses new connections, and ends the process with 0', async () => {
    const backend = await serveHeld();
    const gateway = await startProcess({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const call = client.call('a_tool_0', { text: 'x' });
    await backend.called;
    process.kill(gateway.pid, 'SIGTERM');
    let refusal: unknown;
    const ping = () => send(gateway.url, 'POST', { ...client.headers, connection: 'close' }, client.message('ping'));
    await until('a refusal', async () => {
      await ping().catch((error: unknown) => (refusal = error));
      return refusal !== undefined;
    });
    expect(String(refusal)).toMatch(/ECONNREFUSED|ECONNRESET/);
    const finished = performance.now();
    backend.finish();
    expect((await call).answer.result).toBeDefined();
    expect(await gateway.ended).toBe(0);
    // The process does not wait for the rest of the 4 s.
    expect(performance.now() - finished).toBeLessThan(3_000);
  });

  it('ends the process with 0 after 4 s, even with running calls', async () => {
    const backend = await serveHeld();
    const gateway = await startProcess({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const call = client.call('a_tool_0', { text: 'x' }).catch((error: unknown) => error);
    await backend.called;
    const asked = performance.now();
    process.kill(gateway.pid, 'SIGTERM');
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - asked).toBeLessThan(30_000);
    expect(String(await call)).toMatch(/hang up|ECONNRESET/);
    expect(gateway.output()).toContain('calls were cut off at the end');
  });
});

describe('SIGTERM before a process is ready', () => {
  it('ends it with 0 after its start, not as a crash', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-early-'));
    closing({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const file = join(folder, 'run-config.yaml');
    const [port, private_port] = [await findFreePort(), await findFreePort()];
    const server = { namespace: 'e2e', name: 'gateway', uid: 'e2e' };
    const listen = { port, private_port };
    writeFileSync(file, JSON.stringify({ schema_version: 'v0.1.0', server, listen, ...configTo({}) }));
    const child = spawn(process.execPath, [...RUNTIME_NODE_OPTIONS, runtimeProgram(), '--config', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    closing({ close: () => child.kill('SIGKILL') });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      // The runtime logs this line a moment before it is ready.
      if (output.includes('Anybody who reaches the endpoint')) child.kill('SIGTERM');
    });
    const [code] = (await once(child, 'close')) as unknown[];
    expect([code, output]).toEqual([0, expect.not.stringContaining('failed')]);
  });
});

describe('SIGHUP', () => {
  it('reopens the audit file without losing an event', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-audit-'));
    closing({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const file = join(folder, 'audit.log');
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await startProcess({ a: backend.url }, { audit_config: { enabled: true, logFile: file } });
    const client = await SessionClient.open(gateway.url);
    await client.call('a_tool_0', { text: 'x' });
    const calls = (path: string) => readFileSync(path, 'utf8').split('"mcp_tool_call"').length - 1;
    await until('a line of the call', () => calls(file) === 1);
    renameSync(file, `${file}.1`);
    process.kill(gateway.pid, 'SIGHUP');
    // No event is written meanwhile, so only the signal can create the file.
    await until('the file', () => existsSync(file));
    expect(readFileSync(file, 'utf8')).toBe('');
    await client.call('a_tool_0', { text: 'x' });
    await until('a line of the call', () => calls(file) === 1);
    expect([calls(`${file}.1`), calls(file)]).toEqual([1, 1]);
  });
});
