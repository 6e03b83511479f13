// `make up`: an identity provider and vmcp in the background, then what one can do with them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { locateState, openState } from '#operator/local/state-folder';
import { startIdentityProvider } from './identity-provider.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALREADY_RUNNING = 4;
const Status = z.object({ endpoint: z.url(), folder: z.string() });

function vmcp(args: string[], output: 'shown' | 'read'): { status: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'dist/vmcp.js'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', output === 'shown' ? 'inherit' : 'pipe', 'inherit'],
  });
  return { status, stdout };
}

async function listTools(endpoint: string, token: string): Promise<string[]> {
  const client = new Client({ name: 'quickstart', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  try {
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}

function printNextSteps(endpoint: string, tools: string[]): void {
  console.log(`
alice sees ${tools.length} tools of four servers at ${endpoint}:
${tools.map((name) => `  ${name}`).join('\n')}

Next steps:
  npx vmcp status                 what runs (-o json for programs)
  npx vmcp token alice            a token for alice; bob may not write files
  npx vmcp logs -f                what happens
  npx @modelcontextprotocol/inspector --cli ${endpoint} --transport http \\
    --header "Authorization: Bearer $(npx vmcp token alice)" --method tools/list
  make down                       stop everything`);
}

const state = locateState(join(ROOT, '.vmcp'));
openState(state);
console.log(`identity provider: ${await startIdentityProvider(state)} (users alice and bob)`);
const { status } = vmcp(['up', 'examples/quickstart', '--detach'], 'shown');
if (status !== 0 && status !== ALREADY_RUNNING) process.exit(status ?? 1);
const { endpoint } = Status.parse(JSON.parse(vmcp(['status', '-o', 'json'], 'read').stdout));
const token = vmcp(['token', 'alice'], 'read').stdout.trim();
printNextSteps(endpoint, await listTools(endpoint, token));
