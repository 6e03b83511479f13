import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { Semaphore } from '#lib/limits/semaphore';
import { listenOn } from '#runtime/http/listen-on';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { serveGateway, type ServedGateway } from '../gateway/serve-gateway.ts';
import { send } from '../gateway/session-client.ts';
import { OF_CREDENTIALS } from './drive-credentials.ts';

/** A scenario for a client, as the suite describes it. `url`: that of the suite's server. */
interface Scenario {
  readonly scenario: string;
  readonly url: string;
  readonly context: {
    readonly client_id?: string;
    readonly client_secret?: string;
    readonly toolCalls?: { name: string; arguments: Record<string, unknown> }[];
  };
}

type BackendDocument = RunConfigDocument['backends'][number];

const AT_ONCE = 4;
/** Milliseconds for a login, its probe included. */
const LOGIN_MS = 4_000;
/** Milliseconds until a probe notes that a login is needed. */
const NOTED_MS = 2_500;

function backendOf({ scenario, url, context }: Scenario, folder: string): BackendDocument {
  const backend = { name: 'suite', transport: 'streamable-http' as const, url };
  if (!scenario.startsWith('auth/')) return backend;
  const { client_id, client_secret } = context;
  return {
    ...backend,
    auth: {
      type: 'remote_auth',
      storage: { type: 'sqlite', file: join(folder, 'remote.sqlite') },
      sealing_secret_files: ['sealing'],
      owner: { namespace: 'e2e', name: 'suite', uid: 'u' },
      ...(client_id !== undefined && { client_id }),
      ...(client_secret !== undefined && { client_secret_file: 'client-secret' }),
    },
  };
}

interface Status {
  readonly phase: string;
  readonly message: string;
  readonly login_url: string | null;
}

async function statusOf({ runtime }: ServedGateway): Promise<Status> {
  const { text: status } = await send(`http://127.0.0.1:${runtime.address.privatePort}/status`, 'GET', {});
  const [backend] = (JSON.parse(status) as { backends: Status[] }).backends;
  if (!backend) throw new Error('the gateway has no backend');
  return backend;
}

/** Waits until the backend is ready, and logs in where it needs a login. The suite's issuer asks its user nothing. */
async function logIn(gateway: ServedGateway): Promise<void> {
  let isDone = false;
  for (const end = performance.now() + LOGIN_MS; performance.now() < end;) {
    await sleep(50);
    const { phase, login_url: url } = await statusOf(gateway);
    if (phase === 'ready') return;
    if (url === null || isDone) continue;
    const page = await fetch(url);
    if (!page.ok) throw new Error(`the login failed: ${await page.text()}`);
    isDone = true;
  }
  throw new Error(`the login did not help: ${(await statusOf(gateway)).message}`);
}

async function needsLogin(gateway: ServedGateway, { scenario }: Scenario): Promise<boolean> {
  const isPossible = scenario.startsWith('auth/');
  for (const end = performance.now() + NOTED_MS; isPossible && performance.now() < end;) {
    await sleep(50);
    if ((await statusOf(gateway)).login_url !== null) return true;
  }
  return false;
}

/** Returns arguments for a tool: numbers for its numbers, another tool's schema for its schema, and a text for everything else. */
function argumentsFor({ inputSchema }: Tool, [first]: Tool[]): Record<string, unknown> {
  const properties = Object.entries(inputSchema.properties ?? {}) as [string, { type?: string }][];
  const values: Record<string, unknown> = { number: 2, object: first?.inputSchema };
  return Object.fromEntries(properties.map(([name, { type = '' }]) => [name, values[type] ?? 'text']));
}

/** Uses the suite's server as a client of a gateway would. */
async function callAll(
  url: string,
  { context }: Scenario,
  revision: string,
  headers: Record<string, string> = {},
): Promise<void> {
  const pin = revision === '2026-07-28' ? { versionNegotiation: { mode: { pin: revision } } } : {};
  const client = new Client(
    { name: 'driver', version: '1' },
    { capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }, ...pin },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }));
  client.setRequestHandler('roots/list', () => ({ roots: [] }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  try {
    const { tools } = await client.listTools();
    const calls = context.toolCalls ?? tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, tools) }));
    const listed = new Set(tools.map(({ name }) => name));
    const refused: string[] = [];
    for (const call of calls.filter(({ name }) => listed.has(name))) {
      await client.callTool(call).catch((error: unknown) => refused.push(`${call.name}: ${String(error)}`));
    }
    if (refused.length > 0) throw new Error(refused.join('\n'));
  } finally {
    await client.close();
  }
}

/** Starts a gateway in front of the suite's server, and uses it. @throws Error if a step fails, which some scenarios require */
async function driveScenario(scenario: Scenario, revision: string): Promise<void> {
  const drive = OF_CREDENTIALS[scenario.scenario];
  if (drive)
    return drive(scenario.url, scenario.context as Record<string, string>, (url, headers) =>
      callAll(url, scenario, revision, headers),
    );
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-conformance-'));
  const secret = scenario.context.client_secret;
  const files = {
    sealing: randomBytes(32).toString('base64url'),
    ...(secret !== undefined && { 'client-secret': secret }),
  };
  const gateway = await serveGateway(
    {
      incoming: { type: 'anonymous' },
      aggregation: { conflict_resolution: 'prefix', prefix_format: '' },
      operational: { failure_handling: { health_check_interval: '1s' } },
      backends: [backendOf(scenario, folder)],
    },
    { files, drain: 50 },
  );
  try {
    await logIn(gateway);
    await callAll(gateway.url, scenario, revision).catch(async (error: unknown) => {
      // The server may have changed its issuer, which the next probe notes.
      if (!(await needsLogin(gateway, scenario))) throw error;
      await logIn(gateway);
      await callAll(gateway.url, scenario, revision);
    });
  } finally {
    await gateway.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Serves the commands of `ask-driver.ts`. `command`: what the suite runs for each scenario. */
export async function serveDriver(revision: string): Promise<{ command: string; close(): void }> {
  // The suite starts all scenarios at once.
  const places = new Semaphore({ total: AT_ONCE });
  const drive = async (request: IncomingMessage, response: ServerResponse) => {
    const scenario = JSON.parse(await text(request)) as Scenario;
    const release = await places.acquire();
    await driveScenario(scenario, revision)
      .then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
      .finally(release);
  };
  const server = createServer((request, response) => void drive(request, response));
  await listenOn(server, '127.0.0.1', 0);
  const driver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const command = `${process.execPath} ${join(import.meta.dirname, 'ask-driver.ts')} ${driver}`;
  return { command, close: () => void server.close() };
}
