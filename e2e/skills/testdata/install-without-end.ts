import { installSkill, uninstallSkill } from '#management/operations/skills';
import { localServices } from '#management/local/local-services';
import type { RawRequest } from '#management/operation';
import { LocalSecrets } from '#management/secrets/local-secrets';
import { locateState } from '#local/state-folder';

// Installs and uninstalls skills of some folders, all with one name, until it is killed. Prints `ready` after the first installation.
const [base = '', ...folders] = process.argv.slice(2);
const environment = { HOME: `${base}/home`, PATH: '/usr/bin:/bin' };
const state = locateState(`${base}/.vmcp`);
const services = localServices({
  ...{ state, environment, folder: `${base}/manifests`, version: '1.2.3' },
  secrets: new LocalSecrets({ state, environment }),
  onFailure: (text) => void process.stderr.write(`${text}\n`),
})('default');
const request: RawRequest = {
  ...{ params: {}, query: {}, body: undefined },
  caller: { name: 'test', check: () => Promise.resolve() },
  signal: new AbortController().signal,
};
for (let round = 0; ; round += 1) {
  for (const name of folders) {
    const body = { name, force: true, clients: ['claude-code', 'goose'] };
    await installSkill.call({ ...request, body }, services);
    if (round === 0) process.stdout.write('ready\n');
  }
  const query = { force: 'true' };
  if (round % 2 === 1) await uninstallSkill.call({ ...request, params: { name: 'notes' }, query }, services);
}
