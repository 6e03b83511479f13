import { contextOf, examples, type Parts, type StateOptions, stateOption, timeoutOption } from './command-parts.ts';
import { login, type LoginOptions } from './login.ts';

const HELP = `For MCPServers with remoteAuth: the login is done once, by who runs this, and serves everybody who may call the server.
vmcp status says who waits for one.`;

export function addLogin({ program, deps, stop, finish }: Parts): void {
  program
    .command('login')
    .description('log in at a remote server, for all who call it')
    .argument('[backend]', 'name of an MCPServer; default the only one that waits for a login')
    .option('--no-browser', 'only print the URL')
    .addOption(timeoutOption('how long the login may take', '5m'))
    .addOption(stateOption())
    .addHelpText('after', `\n${HELP}`)
    .addHelpText('after', examples(deps, 'vmcp login', 'vmcp login tickets --no-browser'))
    .action(async (backend: string | undefined, options: StateOptions & LoginOptions) =>
      finish(await login(backend, options, contextOf(deps, options), stop)),
    );
}
