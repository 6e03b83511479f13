import { listOptions, output, type Parts, timeoutOption } from '../command-parts.ts';
import { yesOption } from '../confirm.ts';
import { later, throughApi } from '../management/command.ts';
import { printObject } from '../print-object.ts';
import { printRecords } from '../print-records.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';
import type { ChangeKind, ChangeOptions } from './change-workloads.ts';
import type { EditOptions } from './edit-workload.ts';
import type { Selection } from './workload-list.ts';

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the workloads that run: the MCP servers behind the endpoints')
    .option('-a, --all', 'also those that do not run', false)
    .option('-g, --group <group>', 'only those of a group')
    .examples('vmcp list', 'vmcp list --all -o json', 'vmcp list --context production -n team-a');
  throughApi<Selection & ListOptions>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { tellOthers, WORKLOADS, workloadsOf } = await import('./workload-list.ts');
    const { all, watch, output: format } = options;
    if (all || watch || format !== 'table') {
      await showRecords({ list: () => workloadsOf(api, options), listing: WORKLOADS }, options, context, stop);
      return;
    }
    const shown = await workloadsOf(api, options);
    printRecords(shown, WORKLOADS, format, context);
    if (shown.length > 0) await tellOthers(api, shown, options, context);
  });
}

function addGet(parts: Parts): void {
  const get = parts.program
    .command('get')
    .description('print what a workload is like: what vmcp edit edits')
    .argument('<workload>', 'its name')
    .addOption(output('yaml', 'json'))
    .examples('vmcp get github', 'vmcp get github -o json');
  throughApi<{ output: 'yaml' | 'json' }>(parts, get, async ([name = ''], { api, options, context }) => {
    const { getWorkload } = await import('#management/operations/workloads');
    const { body } = await api.call(getWorkload, { params: { name } });
    context.out.write(printObject(body, options.output));
  });
  const exported = parts.program
    .command('export')
    .description('print the whole run configuration of a workload, without secrets')
    .argument('<workload>', 'its name')
    .addOption(output('json', 'yaml'))
    .examples('vmcp export github > github.json');
  throughApi<{ output: 'yaml' | 'json' }>(parts, exported, async ([name = ''], { api, options, context }) => {
    const { exportWorkload } = await import('#management/operations/workloads');
    const { body } = await api.call(exportWorkload, { params: { name } });
    context.out.write(printObject(body, options.output));
  });
}

const FORCE = [
  '--force',
  'also what another manager of the resource owns, and by writing its manifest anew',
  false,
] as const;

const EDIT_HELP = `
A line that is taken out takes that field away. A text that is refused is shown again, with what is wrong above it. What somebody else
changed meanwhile is not overwritten: the command ends with 7.`;

function addEdit(parts: Parts): void {
  const command = parts.program
    .command('edit')
    .description('change a workload in your editor (VISUAL, EDITOR, else vi), as YAML')
    .argument('<workload>', 'its name')
    .option('-f, --file <file>', 'take the text from a file, - for standard input, and open no editor')
    .option(...FORCE)
    .addHelpText('after', EDIT_HELP)
    .examples('vmcp edit github', 'vmcp get github | sed s/stdio/sse/ | vmcp edit github -f -');
  throughApi<EditOptions>(parts, command, async ([name = ''], { api, options, context }) => {
    const { editByPerson } = await import('./edit-workload.ts');
    const isChanged = await editByPerson(api, name, options, context);
    context.err.write(isChanged ? `${name} is changed${later(api)}\n` : 'nothing was changed\n');
  });
}

interface Verb {
  kind: ChangeKind;
  about: string;
  done: string;
  examples: string[];
}

const VERBS: Verb[] = [
  {
    kind: 'stop',
    about: 'stop workloads, and keep everything else of them',
    done: 'stopped',
    examples: ['vmcp stop github', 'vmcp stop --group tools'],
  },
  {
    kind: 'start',
    about: 'start workloads that were stopped',
    done: 'started',
    examples: ['vmcp start github', 'vmcp start --group tools --no-wait'],
  },
  {
    kind: 'restart',
    about: 'start workloads anew; stopped ones are started where they are named',
    done: 'started anew',
    examples: ['vmcp restart github', 'vmcp restart --group tools --no-wait'],
  },
  {
    kind: 'rm',
    about: 'delete workloads; their secrets stay',
    done: 'deleted',
    examples: ['vmcp rm github', 'vmcp rm $(vmcp list --all -o name -g old) --yes'],
  },
];

function addChange(parts: Parts, { kind, about, done, examples: lines }: Verb): void {
  const command = parts.program
    .command(kind)
    .description(about)
    .argument('[workload...]', 'their names')
    .option('-g, --group <group>', 'those of a group');
  command.option('--no-wait', 'return at once; by default it is waited until it is done');
  command.addOption(timeoutOption('how long to wait', '60s'));
  if (kind === 'rm') command.addOption(yesOption());
  else command.option(...FORCE);
  command.examples(...lines);
  throughApi<ChangeOptions>(parts, command, async (names, { api, options, context, stop }) => {
    const { changeWorkloads } = await import('./change-workloads.ts');
    const changed = await changeWorkloads(api, kind, names, options, context, stop);
    const what = changed.length === 0 ? 'nothing to do' : `${changed.join(', ')}: ${done}${later(api)}`;
    context.err.write(`${what}\n`);
  });
}

export function addWorkloads(parts: Parts): void {
  addList(parts);
  addGet(parts);
  addEdit(parts);
  for (const verb of VERBS) addChange(parts, verb);
}
