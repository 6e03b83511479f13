import { resolve } from 'node:path';
import { Option } from 'commander';
import type { InstalledSkill, SkillScope } from '#management/records/skill';
import { listOptions, output, type Parts } from '../command-parts.ts';
import { confirm, yesOption } from '../confirm.ts';
import type { Format } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { changeEach } from '../management/change-each.ts';
import { withoutFolder } from '../management/command.ts';
import { shownLine } from '../shown-output.ts';
import { printObject } from '../print-object.ts';
import type { Listing } from '../print-records.ts';
import { showProgress } from '../show-progress.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';
import type { InstallOptions } from './install-skill.ts';

const HELP = `
A skill is a folder with a SKILL.md that tells a client how to do something. It comes from a folder, a git repository (git://host/owner/repository@ref#folder)
or an OCI registry (ghcr.io/owner/skill:tag), with all that it needs, and is checked before anything is written. It is put where registered
clients read skills (vmcp client register), for all that the user does or, with --project, for one project.`;

interface LocationOptions {
  project?: string;
  scope?: SkillScope;
}

const projectOption = (): Option => new Option('--project <folder>', 'the skills of this project');
const scopeOption = (): Option => new Option('--scope <scope>', 'for whom').choices(['user', 'project']);

function locationOf({ project, scope }: LocationOptions) {
  return { ...(scope && { scope }), ...(project !== undefined && { project_root: resolve(project) }) };
}

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the skills that are installed')
    .addOption(scopeOption())
    .addOption(projectOption())
    .option('--client <client>', 'only those that this client reads')
    .option('-g, --group <group>', 'only those of this group')
    .examples('vmcp skill list', 'vmcp skill list --project . -o json');
  type Options = LocationOptions & ListOptions & { client?: string; group?: string };
  withoutFolder<Options>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { listSkills } = await import('#management/operations/skills');
    const { client, group: of } = options;
    const query = {
      ...locationOf(options),
      ...(client !== undefined && { client }),
      ...(of !== undefined && { group: of }),
    };
    const list = async () => (await api.call(listSkills, { query })).body.skills;
    await showRecords({ list, listing: SKILLS }, options, context, stop);
  });
}

function addInfo(parts: Parts): void {
  const command = parts.program
    .command('info')
    .description('say what a skill is, where it came from, and whether its files are those that were installed')
    .argument('<skill>', 'its name')
    .addOption(scopeOption())
    .addOption(projectOption())
    .addOption(output('yaml', 'json'))
    .examples('vmcp skill info code-review');
  type Options = LocationOptions & { output: 'yaml' | 'json' };
  withoutFolder<Options>(parts, command, async ([name = ''], { api, options, context }) => {
    const { getSkill } = await import('#management/operations/skills');
    const { body } = await api.call(getSkill, { params: { name }, query: locationOf(options) });
    context.out.write(printObject(body.installed_skill, options.output));
  });
}

function addInstall(parts: Parts): void {
  const command = parts.program
    .command('install')
    .description('install a skill with all that it needs, or nothing')
    .argument(
      '<from>',
      'a folder, git://host/owner/repository@ref#folder, an OCI reference, or an archive (.tar, .tar.gz, .zip)',
    )
    .option('--version <version>', 'tag or ref, where the reference has none')
    .option('--digest <digest>', 'digest that it must have: sha256:…')
    .addOption(projectOption())
    .option('--client <client...>', 'clients that are to read it; default those that are registered')
    .option('-g, --group <group>', 'group that it belongs to')
    .option('--allow-private-ip', 'it may come from a private address, and there by plain http', false)
    .option('--force', 'replace existing files, also those changed by hand', false)
    .addOption(output('table', 'json', 'yaml'))
    .examples(
      'vmcp skill install ./skills/code-review',
      'vmcp skill install ghcr.io/example/code-review:1.2 --client claude-code',
      'vmcp skill install git://github.com/example/skills@v1#code-review --project .',
    );
  withoutFolder<InstallOptions & { output: Format }>(parts, command, async ([from = ''], { api, options, context }) => {
    const { install } = await import('./install-skill.ts');
    const skill = await showProgress(`installing ${shownLine(from)}`, context, () => install(api, from, options));
    if (options.output !== 'table') context.out.write(printObject(skill, options.output));
    const { metadata, clients, dependencies } = skill;
    const names = [metadata.name, ...dependencies.map(({ name }) => name)].join(', ');
    const readers = clients.length === 0 ? 'no client reads it: see vmcp client register' : `for ${clients.join(', ')}`;
    context.err.write(`installed ${names} (${skill.digest}); ${readers}\n`);
  });
}

function addRemove(parts: Parts): void {
  const command = parts.program
    .command('rm')
    .alias('uninstall')
    .description('uninstall skills; what they need stays')
    .argument('<skill...>', 'their names')
    .addOption(scopeOption())
    .addOption(projectOption())
    .option('--force', 'also where another skill needs it, or it has been changed by hand', false)
    .addOption(yesOption())
    .examples('vmcp skill rm code-review', 'vmcp skill rm code-review --project . --yes');
  type Options = LocationOptions & { force: boolean; yes: boolean };
  withoutFolder<Options>(parts, command, async (names, { api, options, context }) => {
    const { uninstallSkill } = await import('#management/operations/skills');
    await confirm(`uninstall ${names.join(', ')}`, options, context);
    const query = { ...locationOf(options), force: options.force ? ('true' as const) : ('false' as const) };
    await changeEach(names, async (name) => {
      await api.call(uninstallSkill, { params: { name }, query });
      context.err.write(`${name} is uninstalled\n`);
    });
  });
}

function addValidate(parts: Parts): void {
  const command = parts.program
    .command('validate')
    .description('check a skill without installing it')
    .argument('<folder>', 'its folder, or an archive of it')
    .addOption(output('table', 'json', 'yaml'))
    .examples('vmcp skill validate ./skills/code-review');
  withoutFolder<{ output: Format }>(parts, command, async ([from = ''], { api, options, context }) => {
    const { validate } = await import('./install-skill.ts');
    const verdict = await validate(api, from);
    if (options.output !== 'table') context.out.write(printObject(verdict, options.output));
    for (const text of verdict.warnings) context.err.write(`warning: ${shownLine(text)}\n`);
    if (!verdict.valid) throw new CliError(EXIT_CODES.input, verdict.errors.map(shownLine).join('\n'));
    context.err.write(`${shownLine(from)} is a skill that can be installed\n`);
  });
}

export function addSkills(parts: Parts): void {
  const group = parts.program
    .command('skill')
    .description('install skills for clients, from folders, repositories and registries')
    .addHelpText('after', HELP)
    .examples('vmcp skill install ./skills/code-review', 'vmcp skill list');
  for (const add of [addList, addInfo, addInstall, addRemove, addValidate]) add({ ...parts, program: group });
}

const SKILLS: Listing<InstalledSkill> = {
  columns: ['NAME', 'STATUS', 'SCOPE', 'CLIENTS', 'FROM', 'DESCRIPTION'],
  row: ({ metadata, status, scope, project_root: project, clients, reference }) => [
    metadata.name,
    status,
    project === undefined ? scope : `${scope} ${project}`,
    clients.join(', '),
    reference,
    cut(metadata.description),
  ],
  name: ({ metadata }) => metadata.name,
  id: ({ metadata, scope, project_root: project = '' }) => `${metadata.name} ${scope} ${project}`,
  none: (typed) => `no skill is installed: ${typed('skill install <reference>')} installs one`,
};

const LONGEST = 60;
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
