import { InvalidArgumentError, Option } from 'commander';
import { contextOf, type Parts, timeoutOption } from '../command-parts.ts';
import { addTarget } from '../management/target.ts';
import type { RunOptions } from './run.ts';

const HELP = `
What is run is told by its form:
  an entry of the registry            github, io.github.example/server     (vmcp registry search)
  a remote server                     https://mcp.example.com/mcp
  an npm package                      @scope/name, name@1.2.3, npx://name
  a package of Python                 uvx://name
  a container image                   ghcr.io/example/server:1.0, example/server
A name alone is an entry of the registry and nothing else, so that a name that is misspelt runs nothing.

Secrets that it needs are asked for without being shown. In scripts give them as files, or by the name of a variable of the environment;
never as values in the command line. They are kept in the secrets provider (vmcp secret), and the manifest only refers to them.
Where nothing runs, a folder is made (./vmcp, or --folder) with one endpoint on this machine, and started in the background.`;

const collect = (text: string, all: string[]): string[] => [...all, text];

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw new InvalidArgumentError('Write a port, 1 to 65535.');
  return port;
}

export function addRun({ program, deps, stop, finish }: Parts): void {
  const command = program
    .command('run')
    .description('start an MCP server: an entry of the registry, an npm package, a URL or an image')
    .argument('<source>', 'what to run')
    .argument('[args...]', 'after --: arguments of its program')
    .option('--name <name>', 'what it is called; default made of the source')
    .option('-g, --group <group>', 'group that it joins; default the only one that there is')
    .option(
      '-e, --env <NAME[=VALUE]>',
      'a variable of its environment, NAME alone: as in this one; may be repeated',
      collect,
      [],
    )
    .option(
      '-s, --secret <NAME[=@file]>',
      'a secret variable: NAME=@file, NAME=key:<stored secret>, or NAME to be asked',
      collect,
      [],
    )
    .option('--header <NAME=VALUE>', 'a header that is sent to it', collect, [])
    .option('--header-secret <NAME[=@file]>', 'a secret header, written like --secret', collect, [])
    .addOption(new Option('--transport <kind>', 'what it speaks').choices(['stdio', 'sse', 'streamable-http']))
    .option('--port <number>', 'port that it listens on, where it speaks HTTP', readPort)
    .addOption(timeoutOption('how long to wait until its tools are listed', '2m'))
    .addHelpText('after', HELP)
    .examples(
      'vmcp run memory',
      'vmcp run github',
      'vmcp run github --secret GITHUB_PERSONAL_ACCESS_TOKEN=@token.txt',
      'vmcp run @modelcontextprotocol/server-filesystem -- /srv/files',
      'vmcp run https://mcp.example.com/mcp --header-secret Authorization=@header.txt',
    );
  addTarget(command).action(async (source: string, args: string[], options: RunOptions) => {
    const { run } = await import('./run.ts');
    finish(await run(source, args, options, contextOf(deps, options), stop));
  });
}
