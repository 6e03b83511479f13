import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Robot } from './robot.ts';

/**
 * A browser for programs that open one: `node main.ts [--user alice] [--user 127.0.0.1:4000=bob] URL`, or as `BROWSER`
 * or `xdg-open`, with the user in `ROBOT_USER`. It logs in and finally visits the program's own address.
 */
const { values, positionals } = parseArgs({
  options: { user: { type: 'string', multiple: true } },
  allowPositionals: true,
});
const users = values.user ?? (process.env.ROBOT_USER ?? 'alice').split(',');
const url = positionals.at(-1);
if (url === undefined) throw new Error('no URL to open');

const page = await login(url);
console.log(JSON.stringify({ status: page.status, url: page.url.origin + page.url.pathname }));
process.exitCode = page.status < 400 ? 0 : 1;

/** Stops before the program's address, as the program may not listen yet. */
async function login(start: string) {
  const robot = new Robot();
  const redirect = new URL(start).searchParams.get('redirect_uri') ?? '';
  const before = ({ href }: URL) => redirect !== '' && href.startsWith(redirect);
  const end = await robot.walk(start, { user: userBy(users) }, { before });
  if (end.next === undefined) return end;
  for (let tries = 0; ; tries += 1) {
    try {
      return await robot.open(end.next);
    } catch (error) {
      if (tries === 20) throw error;
      await pause(250);
    }
  }
}

/** Parses one name for all providers, or `host:port=name` for single ones. */
function userBy(names: readonly string[]): string | Record<string, string> {
  const pairs = names.filter((name) => name.includes('=')).map((pair) => pair.split('=', 2) as [string, string]);
  return pairs.length > 0 ? Object.fromEntries(pairs) : (names[0] ?? 'alice');
}
