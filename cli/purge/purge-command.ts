import { InvalidArgumentError, Option } from 'commander';
import { contextOf, output, type Parts, timeoutOption } from '../command-parts.ts';
import { yesOption } from '../confirm.ts';
import { addTarget } from '../management/target.ts';
import type { PurgeOptions } from './purge.ts';
import { CONTENTS } from './find-written-keys.ts';

const HELP = `
Logins, sessions, upstream tokens and registered clients outlive the server that stored them, and end by themselves (docs/operate/storage-schema.md).
This deletes them at once: the files below the state folder, and the keys in Redis that begin with the prefix of the server. Where the
Redis is stands in the resource; when that is deleted already, say it. MCPServer/<name> is the endpoint of an MCPServer by itself.`;

function readNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Write a number.');
  return Number(text);
}

export function addPurge({ program, deps, stop, finish }: Parts): void {
  const command = program
    .command('purge')
    .description('delete what a server stored: logins, sessions, tokens, keys; of one that is gone')
    .argument('<server>', 'name of a VirtualMCPServer, or MCPServer/<name>')
    .option('--dry-run', 'only say what would be deleted', false)
    .option('--force', 'also of a server that is still there: everybody who uses it begins anew', false)
    .addOption(yesOption())
    .addOption(new Option('--only <what>', 'only the storage of these').choices(CONTENTS))
    .option('--redis-address <address...>', 'host:port of the Redis; with --sentinel-master those of Sentinels')
    .option('--sentinel-master <name>', 'name of the master as the Sentinels know it')
    .option('--db <number>', 'number of the database', readNumber)
    .option('--key-prefix <prefix>', 'prefix of the keys; default that of the resource, vmcp:<namespace>/<name>:')
    .option('--username <user>', 'user of the Redis; default that of the resource')
    .option('--password-file <file>', 'file with its password')
    .option('--tls', 'TLS to the Redis', false)
    .option('--sentinel-tls', 'TLS to the Sentinels', false)
    .option('--ca-file <file>', 'certificate authorities of both, where no public one issued their certificates')
    .option('--tls-name <name>', 'name in the certificate, where the address is another one: a forwarded port')
    .addOption(timeoutOption('how long it may take', '60s'))
    .addOption(output('table', 'json', 'yaml'))
    .addHelpText('after', HELP)
    .examples(
      'vmcp purge demo --dry-run',
      'vmcp purge demo --yes',
      'vmcp purge tools --context production -n team-a --redis-address 127.0.0.1:6379 --password-file redis-password',
    );
  addTarget(command).action(async (server: string, options: PurgeOptions) => {
    const { purge } = await import('./purge.ts');
    finish(await purge(server, options, contextOf(deps, options), stop));
  });
}
