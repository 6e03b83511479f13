import { Option } from 'commander';
import type { WorkloadGroup } from '#management/records/group';
import { listOptions, output, type Parts } from '../command-parts.ts';
import { changeEach } from '../management/change-each.ts';
import { later, throughApi } from '../management/command.ts';
import { printObject } from '../print-object.ts';
import type { Listing } from '../print-records.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';

const HELP = `
The workloads of a group are offered together, by each VirtualMCPServer that names the group. vmcp run --group puts a workload into one, and
makes it where it is not there; vmcp edit moves a workload to another.`;

const GROUPS: Listing<WorkloadGroup> = {
  columns: ['NAME', 'WORKLOADS', 'DESCRIPTION'],
  row: ({ name, workloads, description }) => [name, workloads.join(', '), description],
  name: ({ name }) => name,
  none: (typed) => `there is no group: ${typed('group create <group>')} makes one`,
};

const description = (): Option => new Option('--description <text>', 'what it is for');

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the groups and their workloads')
    .examples('vmcp group list', 'vmcp group list -o json');
  throughApi<ListOptions>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { listGroups } = await import('#management/operations/groups');
    const list = async () => (await api.call(listGroups)).body.groups;
    await showRecords({ list, listing: GROUPS }, options, context, stop);
  });
}

function addGet(parts: Parts): void {
  const command = parts.program
    .command('get')
    .description('print a group')
    .argument('<group>', 'its name')
    .addOption(output('yaml', 'json'))
    .examples('vmcp group get tools');
  throughApi<{ output: 'yaml' | 'json' }>(parts, command, async ([name = ''], { api, options, context }) => {
    const { getGroup } = await import('#management/operations/groups');
    const { body } = await api.call(getGroup, { params: { name } });
    context.out.write(printObject(body, options.output));
  });
}

function addCreate(parts: Parts): void {
  const command = parts.program
    .command('create')
    .description('make a group')
    .argument('<name>', 'what it is called')
    .addOption(description())
    .examples('vmcp group create dev --description "Tools for developers"');
  throughApi<{ description?: string }>(parts, command, async ([name = ''], { api, options, context }) => {
    const { createGroup } = await import('#management/operations/groups');
    await api.call(createGroup, { body: { name, description: options.description } });
    context.err.write(`group ${name} is made${later(api)}\n`);
  });
}

function addEdit(parts: Parts): void {
  const command = parts.program
    .command('edit')
    .description('change the description of a group')
    .argument('<group>', 'its name')
    .addOption(description().makeOptionMandatory())
    .examples('vmcp group edit dev --description "Tools for developers"');
  throughApi<{ description: string }>(parts, command, async ([name = ''], { api, options, context }) => {
    const { editGroup } = await import('#management/operations/groups');
    await api.call(editGroup, { params: { name }, body: { description: options.description } });
    context.err.write(`group ${name} is changed${later(api)}\n`);
  });
}

function addRemove(parts: Parts): void {
  const command = parts.program
    .command('rm')
    .description('delete groups that nothing uses')
    .argument('<group...>', 'their names')
    .examples('vmcp group rm dev');
  throughApi(parts, command, async (names, { api, context }) => {
    const { deleteGroup } = await import('#management/operations/groups');
    await changeEach(names, async (name) => {
      await api.call(deleteGroup, { params: { name } });
      context.err.write(`group ${name} is deleted${later(api)}\n`);
    });
  });
}

export function addGroups(parts: Parts): void {
  const group = parts.program
    .command('group')
    .description('put workloads together that are offered together')
    .addHelpText('after', HELP)
    .examples('vmcp group create dev', 'vmcp group list');
  for (const add of [addList, addGet, addCreate, addEdit, addRemove]) add({ ...parts, program: group });
}
