// Property tests of the management API: schemathesis generates requests from the OpenAPI document and checks each answer.
// `node e2e/management/property/run.ts [seed]`; the last line of its output counts the cases.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../gateway/find-free-port.ts';
import { server, whoami } from '../../local/manifests.ts';
import { type RunningApi, useApi } from '../use-api.ts';

const PROGRAM = 'schemathesis==4.32.5';
/** The next `npm ci` removes this folder. */
const FOLDER = join(import.meta.dirname, '../../../node_modules/.schemathesis');
const DOCUMENT = join(import.meta.dirname, '../../../management/openapi.json');
const SETTINGS = join(import.meta.dirname, 'schemathesis.toml');
/** Number of requests for each operation and phase. */
const EXAMPLES = '5';
/** Below the rate limit of one caller. */
const RATE = '90/s';
const DEADLINE = 540_000;
/** The name in `schemathesis.toml`. */
const SKILL = 'sample';

function install(): string {
  const python = join(FOLDER, 'bin/python');
  const run = (command: string, args: string[]) =>
    execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], timeout: DEADLINE });
  mkdirSync(FOLDER, { recursive: true });
  if (!existsSync(python)) run('python3', ['-m', 'venv', FOLDER]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PROGRAM]);
  return join(FOLDER, 'bin/schemathesis');
}

interface Ended {
  code: number;
  /** The output. */
  said: string;
}

/** Runs schemathesis. Its settings take token and names from the environment. */
async function test(program: string, api: RunningApi, seed: string, { folder, operation }: Prepared): Promise<Ended> {
  const phases = ['--phases=coverage,fuzzing,stateful', `--max-examples=${EXAMPLES}`, '--checks=all'];
  const pace = ['--continue-on-failure', '--no-color', `--rate-limit=${RATE}`, `--seed=${seed}`];
  const child = spawn(program, ['--config-file', SETTINGS, 'run', DOCUMENT, `--url=${api.url}`, ...phases, ...pace], {
    cwd: folder,
    env: { ...process.env, MANAGEMENT_TOKEN: api.token, OPERATION_ID: operation },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: DEADLINE,
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    process.stdout.write(text);
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? 1, said })));
}

interface Prepared {
  folder: string;
  /** Id of a background operation that has ended. */
  operation: string;
}

/** Creates the objects that read operations find. Random names would lead only to 404. */
async function prepare(api: RunningApi, folder: string): Promise<Prepared> {
  const skill = join(folder, SKILL);
  mkdirSync(skill);
  writeFileSync(join(skill, 'SKILL.md'), `---\nname: ${SKILL}\ndescription: Is there.\n---\nNothing.\n`);
  const made = [
    await api.call('POST', '/secrets', { provider_type: 'encrypted' }),
    await api.call('POST', '/skills', { name: skill }),
  ];
  const restart = await api.call('POST', '/workloads/restart', { names: ['whoami'] });
  const { operation_id: operation } = (await restart.json()) as { operation_id: string };
  const statuses = [...made, restart].map(({ status }) => status);
  if (statuses.join() !== '201,201,202') throw new Error(`what is to be read was not made: ${statuses.join()}`);
  return { folder, operation };
}

/** Counts untested operations and phases without effect, which schemathesis does not report as failures. */
function leftOut(said: string): number {
  const [, all = '', tested = ''] = /Selected: \d+\/(\d+)\s+Tested: (\d+)/.exec(said) ?? [];
  const phases = said.match(/^ +⏭ (?!.*\(disabled\))/gmu) ?? [];
  return all === '' ? 1 : Number(all) - Number(tested) + phases.length;
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
  const { code, said } = await test(program, api, seed, await prepare(api, folder));
  const left = leftOut(said);
  const failed = code !== 0 || left > 0;
  console.log(`\n${failed ? 0 : 1} passed, ${failed ? 1 : 0} failed, ${left} skipped`);
  process.exitCode = failed ? 1 : 0;
} finally {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
}
