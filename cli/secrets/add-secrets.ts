import { Argument } from 'commander';
import { listOptions, type Parts } from '../command-parts.ts';
import { STORED_SECRET } from '#crds/parts/defaults';
import { confirm, yesOption } from '../confirm.ts';
import { changeEach } from '../management/change-each.ts';
import { later, withoutFolder } from '../management/command.ts';
import type { Listing } from '../print-records.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';

const PROVIDERS = ['encrypted', 'environment', '1password', 'kubernetes'] as const;

const HELP = `
A secret is stored under a key, and resources name it: {name: vmcp-secrets, key: <key>}. Its value is typed, piped in, or read from a file:
it is never an argument, never printed again, and reaches only the workloads that name it. On one machine secrets are kept in an encrypted file
of the state folder; its password is VMCP_SECRETS_PASSWORD, or in the file VMCP_SECRETS_PASSWORD_FILE, or in ~/.config/vmcp/secrets-password,
which is made with the first secret. In a cluster they are in the Secret vmcp-secrets of the namespace.`;

/** Two providers are read-only. */
const NONE: Record<(typeof PROVIDERS)[number], Listing<unknown>['none']> = {
  encrypted: (typed) => `no secret is stored: ${typed('secret set <key>')} stores one`,
  kubernetes: (typed) => `no secret is stored: ${typed('secret set <key>')} stores one`,
  environment: () => 'no secret is in the environment: set VMCP_SECRET_<key>, and start vmcp again',
  '1password': () => 'the vault in 1Password has no secret: add an item there',
};

const SECRETS: Listing<{ key: string }> = {
  columns: ['KEY'],
  row: ({ key }) => [key],
  name: ({ key }) => key,
  none: NONE.encrypted,
};

function addSetup(parts: Parts): void {
  const command = parts.program
    .command('setup')
    .description('choose where secrets are; or change the password of the encrypted ones')
    .addArgument(new Argument('[provider]', 'default encrypted, in a cluster kubernetes').choices(PROVIDERS))
    .option(
      '--password-file <file>',
      'password of the encrypted secrets, - for standard input; another one: they are sealed anew',
    )
    .addHelpText(
      'after',
      '\nAn encrypted file is sealed anew where its present password is known here. 1password needs its program op, and can be read only, as the environment (VMCP_SECRET_<key>).',
    )
    .examples('vmcp secret setup', 'vmcp secret setup 1password', 'vmcp secret setup --password-file new-password');
  withoutFolder<{ passwordFile?: string }>(parts, command, async ([provider], { api, options, context }) => {
    const { setUpProvider, usualProvider } = await import('./secrets-provider.ts');
    const { readValue } = await import('./read-value.ts');
    const { passwordFile: file } = options;
    const [password] = (file === undefined ? '' : await readValue('password', file, context)).split(/\r?\n/);
    const type = PROVIDERS.find((one) => one === provider) ?? usualProvider(options);
    context.err.write(`${await setUpProvider(api, type, password === '' ? undefined : password, context)}\n`);
  });
}

function addSet(parts: Parts): void {
  const command = parts.program
    .command('set')
    .description('store a secret, or change it; its value is typed, piped in, or in a file')
    .argument('<key>', 'its key: letters, digits, hyphens, dots and underscores')
    .option('-f, --file <file>', 'the value, as the file has it; - for standard input, without its last line break')
    .examples(
      'vmcp secret set GITHUB_TOKEN',
      'gh auth token | vmcp secret set GITHUB_TOKEN',
      'vmcp secret set tls.key --file key.pem --context production -n team-a',
    );
  withoutFolder<{ file?: string }>(parts, command, async ([key = ''], { api, options, context }) => {
    const { checkKey, keysToWrite, putSecret, usualProvider } = await import('./secrets-provider.ts');
    const { readValue } = await import('./read-value.ts');
    checkKey(key);
    const value = await readValue(`value of ${key}`, options.file, context);
    const known = await keysToWrite(api, usualProvider(options), context);
    await putSecret(api, key, value, known);
    context.err.write(`secret ${key} is ${known.has(key) ? 'changed' : 'stored'}${later(api)}\n`);
    context.err.write(`resources name it {name: ${STORED_SECRET}, key: ${key}}\n`);
  });
}

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the keys of the secrets; values are never shown')
    .examples('vmcp secret list', 'vmcp secret list -o name');
  withoutFolder<ListOptions>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { storedSecrets, usualProvider } = await import('./secrets-provider.ts');
    const seen: { provider: keyof typeof NONE } = { provider: usualProvider(options) };
    const list = async () => {
      const stored = await storedSecrets(api);
      seen.provider = stored?.type ?? seen.provider;
      return [...(stored?.keys ?? [])].map((key) => ({ key }));
    };
    const none: typeof SECRETS.none = (typed) => NONE[seen.provider](typed);
    await showRecords({ list, listing: { ...SECRETS, none } }, options, context, stop);
  });
}

function addRemove(parts: Parts): void {
  const command = parts.program
    .command('rm')
    .description('delete secrets; workloads that name them are left out until they are there again')
    .argument('<key...>', 'their keys')
    .addOption(yesOption())
    .examples('vmcp secret rm GITHUB_TOKEN', 'vmcp secret rm A B --yes');
  withoutFolder<{ yes: boolean }>(parts, command, async (keys, { api, options, context }) => {
    const { deleteSecret } = await import('#management/operations/secrets');
    await confirm(`delete ${keys.join(', ')}`, options, context);
    await changeEach(keys, async (key) => {
      await api.call(deleteSecret, { params: { key } });
      context.err.write(`secret ${key} is deleted${later(api)}\n`);
    });
  });
}

export function addSecrets(parts: Parts): void {
  const group = parts.program
    .command('secret')
    .description('store secrets for workloads: keys are shown, values never')
    .addHelpText('after', HELP)
    .examples('vmcp secret set GITHUB_TOKEN', 'vmcp secret list');
  for (const add of [addSetup, addSet, addList, addRemove]) add({ ...parts, program: group });
}
