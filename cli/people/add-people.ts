import type { Command } from 'commander';
import { contextOf, type Parts } from '../command-parts.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { addTarget, type TargetOptions } from '../management/target.ts';
import type { Servers } from './servers.ts';

interface PeopleOptions extends TargetOptions {
  server?: string;
}

const HELP = `
A user is named by the user_id of the audit lines, which is sub in the access tokens. A blocked user gets no tokens, by a login or by an
assertion of an identity provider, and the tokens of the user are refused within seconds. The sessions of the user end.`;

const USER = /^[!-~]{1,255}$/;

type Work = (users: string[], servers: Servers, options: PeopleOptions, context: Context) => Promise<void>;

function act({ deps, finish }: Parts, command: Command, work: Work): void {
  command.option('--server <name>', 'resource with the authorization server; needed where there are several');
  addTarget(command).action(async () => {
    const options = command.opts<PeopleOptions>();
    const context = contextOf(deps, options);
    const wrong = command.args.find((user) => !USER.test(user));
    if (wrong !== undefined)
      throw new CliError(EXIT_CODES.input, `${JSON.stringify(wrong)} is no user: write the user_id of an audit line`);
    const { withServers } = await import('./open-servers.ts');
    await withServers(options, context, (servers) => work(command.args, servers, options, context));
    finish(EXIT_CODES.ok);
  });
}

function addChange(parts: Parts, name: 'block' | 'unblock', description: string): void {
  const command = parts.program
    .command(name)
    .description(description)
    .argument('<user...>', 'user_id of audit lines')
    .examples(`vmcp people ${name} n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg`);
  act(parts, command, async (users, { resources, place, running }, { server: named }, { err }) => {
    const { changeBlocked, findServer } = await import('./blocked-users.ts');
    const server = await findServer(resources, named, place);
    const block = name === 'block';
    const changed = await changeBlocked(resources, server, { block, users });
    const later = running ? '' : '; it is taken over when vmcp runs';
    for (const user of users) {
      const isNew = changed.includes(user);
      err.write(`${user} ${isNew ? 'is' : 'was'} ${name}ed at ${server.resource.name}${isNew ? later : ' already'}\n`);
    }
  });
}

function addList(parts: Parts): void {
  const command = parts.program
    .command('blocked')
    .description('list the blocked users')
    .examples('vmcp people blocked');
  act(parts, command, async (_users, { resources, place }, { server: named }, { out }) => {
    const { findServer } = await import('./blocked-users.ts');
    const { config } = await findServer(resources, named, place);
    for (const user of config.blockedUsers ?? []) out.write(`${user}\n`);
  });
}

export function addPeople(parts: Parts): void {
  const people = parts.program
    .command('people')
    .description('block users of an authorization server')
    .addHelpText('after', HELP)
    .examples('vmcp people blocked', 'vmcp people block <user>', 'vmcp people unblock <user>');
  const below = { ...parts, program: people };
  addChange(below, 'block', 'refuse users until they are unblocked');
  addChange(below, 'unblock', 'let blocked users log in again');
  addList(below);
}
