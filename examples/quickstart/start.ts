// `make up`: two identity providers and vmcp in the background, then what one can do with them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { fingerprintOf } from '#local/fingerprint';
import { readLock } from '#local/lock';
import { locateState, openState } from '#local/state-folder';
import { PROVIDERS, startIdentityProviders } from './identity-providers.ts';

const ROOT = join(import.meta.dirname, '../..');
const ALREADY_RUNNING = 4;
const Status = z.object({ endpoint: z.url(), folder: z.string() });
const Caller = z.object({ subject: z.string(), issuer: z.string(), audience: z.array(z.string()) });

function vmcp(args: string[], output: 'shown' | 'read'): { status: number | null; stdout: string } {
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'dist/vmcp.js'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', output === 'shown' ? 'inherit' : 'pipe', 'inherit'],
  });
  return { status, stdout };
}

/** Returns the names of all tools, and the user as each backend with a `whoami` sees it. */
async function look(endpoint: string, token: string): Promise<{ tools: string[]; known: string[] }> {
  const client = new Client({ name: 'quickstart', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  try {
    const tools = (await client.listTools()).tools.map(({ name }) => name);
    const known: string[] = [];
    for (const name of tools.filter((tool) => tool.endsWith('_whoami'))) {
      const { structuredContent } = await client.callTool({ name, arguments: {} });
      const { subject, issuer, audience } = Caller.parse(structuredContent);
      known.push(`${name.padEnd(16)} ${subject}, by a token of ${issuer} for ${audience.join(', ')}`);
    }
    return { tools, known };
  } finally {
    await client.close();
  }
}

function printNextSteps(endpoint: string, tools: string[], known: string[]): void {
  console.log(`
alice sees ${tools.length} tools of seven servers at ${endpoint}. Three of them tell who she is there:
${known.map((line) => `  ${line}`).join('\n')}

Next steps:
  npx vmcp try                    log in by your browser: alice or bob, the password is the name
  npx vmcp connect                put the endpoint into your MCP client
  npx vmcp doctor                 look at it as MCP clients do
  npx vmcp status                 what runs (-o json for programs)
  npx vmcp token alice            a token for alice; bob may not write files
  npx vmcp logs -f                what happens
  npx @modelcontextprotocol/inspector --cli ${endpoint} --transport http \\
    --header "Authorization: Bearer $(npx vmcp token alice)" --method tools/list
  ${new URL('/connections', endpoint).href}   which providers you are linked to
  make down                       stop everything`);
}

const state = locateState(join(ROOT, '.vmcp'));
openState(state);
try {
  await startIdentityProviders(state);
} catch (problem) {
  console.error(problem instanceof Error ? problem.message : problem);
  process.exit(1);
}
for (const { name, issuer } of PROVIDERS) console.log(`identity provider ${name}: ${issuer} (users alice and bob)`);
const running = readLock(state);
if (running && running.build !== fingerprintOf([join(ROOT, 'dist/vmcp.js'), join(ROOT, 'dist/runtime.js')])) {
  console.log('what runs is another build than this one: it is started again');
  vmcp(['down'], 'shown');
}
const { status } = vmcp(['up', 'examples/quickstart', '--detach'], 'shown');
if (status !== 0 && status !== ALREADY_RUNNING) process.exit(status ?? 1);
const { endpoint } = Status.parse(JSON.parse(vmcp(['status', '-o', 'json'], 'read').stdout));
const token = vmcp(['token', 'alice'], 'read').stdout.trim();
const { tools, known } = await look(endpoint, token);
printNextSteps(endpoint, tools, known);
