// Property tests of the management API: schemathesis makes requests from the OpenAPI document and checks each answer against it.
// `node e2e/management/property/run.ts [seed]`; ends with one line that counts.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../gateway/find-free-port.ts';
import { server, whoami } from '../../local/manifests.ts';
import { type RunningApi, useApi } from '../use-api.ts';

const PROGRAM = 'schemathesis==4.32.5';
/** The next `npm ci` removes it. */
const FOLDER = join(import.meta.dirname, '../../../node_modules/.schemathesis');
const DOCUMENT = join(import.meta.dirname, '../../../operator/management/openapi.json');
const SETTINGS = join(import.meta.dirname, 'schemathesis.toml');
/** Requests of one operation in each phase. */
const EXAMPLES = '5';
/** Below the rate of one caller. */
const RATE = '90/s';
const DEADLINE = 540_000;

function install(): string {
  const python = join(FOLDER, 'bin/python');
  const run = (command: string, args: string[]) =>
    execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], timeout: DEADLINE });
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(python)) run('python3', ['-m', 'venv', FOLDER]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PROGRAM]);
  return join(FOLDER, 'bin/schemathesis');
}

/** The token is in its environment, not among its arguments. */
async function test(program: string, api: RunningApi, seed: string, folder: string): Promise<number> {
  const phases = ['--phases=examples,coverage,fuzzing,stateful', `--max-examples=${EXAMPLES}`, '--checks=all'];
  const pace = ['--continue-on-failure', '--no-color', `--rate-limit=${RATE}`, `--seed=${seed}`];
  const child = spawn(program, ['--config-file', SETTINGS, 'run', DOCUMENT, `--url=${api.url}`, ...phases, ...pace], {
    cwd: folder,
    env: { ...process.env, MANAGEMENT_TOKEN: api.token },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: DEADLINE,
  });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

const [seed = '1'] = process.argv.slice(2);
const program = install();
const folder = mkdtempSync(join(tmpdir(), 'vmcp-property-'));
const manifests = {
  'server.yaml': server('demo', await findFreePort()),
  'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
};
const api = await useApi(manifests, { VMCP_SECRETS_PASSWORD: 'of-the-property-tests' });
try {
  const setUp = await api.call('POST', '/secrets', { provider_type: 'encrypted' });
  const failed = setUp.status !== 201 || (await test(program, api, seed, folder)) !== 0;
  console.log(`\n${failed ? 0 : 1} passed, ${failed ? 1 : 0} failed, 0 skipped`);
  process.exitCode = failed ? 1 : 0;
} finally {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
}
