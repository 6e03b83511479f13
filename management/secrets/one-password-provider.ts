import { execFile } from 'node:child_process';
import { z } from 'zod';
import { codeOf } from '#lib/files/write-file';
import { parseJson } from '#lib/json/parse-json';
import { Problem } from '../problem.ts';
import type { LocalProvider } from './local-provider.ts';

const DEADLINE = 20_000;
/** Bytes. */
const LONGEST_ANSWER = 4 * 1024 * 1024;
const AT_ONCE = 4;
const USUAL_FIELD = 'credential';

const Items = z.array(z.object({ title: z.string() })).max(10_000);

const KEY = /^[-._A-Za-z0-9]{1,253}$/;

/**
 * `op` handles the login. A key is an item title (field `credential`) or `<item>.<field>`. The vault is
 * VMCP_1PASSWORD_VAULT, by default `vmcp`, for every namespace. Values are never in arguments; references are, and are
 * not secret.
 */
export function onePasswordProvider(environment: NodeJS.ProcessEnv): LocalProvider {
  const vault = environment.VMCP_1PASSWORD_VAULT ?? 'vmcp';
  const list = async (): Promise<string[]> => {
    const { data } = Items.safeParse(parseJson(await run(['item', 'list', '--vault', vault, '--format', 'json'])));
    if (data === undefined) throw new Problem('unavailable', '`op item list` answered with something else than items');
    return data.map(({ title }) => title).filter((title) => KEY.test(title));
  };
  const run = (args: string[]) => runOp(args, environment);
  return {
    type: '1password',
    where: `change the items of vault "${vault}" in 1Password`,
    list,
    async read(_namespace, keys) {
      const values = new Map<string, string>();
      for (let at = 0; at < keys.length; at += AT_ONCE) {
        const some = keys.slice(at, at + AT_ONCE);
        const read = await Promise.all(some.map((key) => readField(key, vault, run)));
        for (const [index, value] of read.entries()) if (value !== undefined) values.set(some[index] ?? '', value);
      }
      return values;
    },
    async setUp() {
      try {
        await list();
        return undefined;
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        throw new Problem('unsupported_provider', problem.message, { cause: problem });
      }
    },
  };
}

async function readField(key: string, vault: string, run: (args: string[]) => Promise<string>) {
  const dot = key.indexOf('.');
  const [item, field] = dot < 0 ? [key, USUAL_FIELD] : [key.slice(0, dot), key.slice(dot + 1)];
  try {
    return await run(['read', '--no-newline', `op://${vault}/${item}/${field}`]);
  } catch (problem) {
    if (problem instanceof NotInVault) return undefined;
    throw problem;
  }
}

class NotInVault extends Problem {}

function runOp(args: string[], environment: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: environment, timeout: DEADLINE, maxBuffer: LONGEST_ANSWER, windowsHide: true };
    const child = execFile('op', args, options, (problem, output, said) => {
      if (problem) reject(explain(problem, said));
      else resolve(output);
    });
    // The program must not wait for a typed password.
    child.stdin?.end();
  });
}

/** The error output names accounts, vaults and items, but no values. */
function explain(problem: Error, said: string): Problem {
  if (codeOf(problem) === 'ENOENT') {
    const remedy = 'install it (https://developer.1password.com/docs/cli) and sign in, or set up another provider';
    return new Problem('unavailable', `1Password's program \`op\` is not on the PATH: ${remedy}`);
  }
  if ('killed' in problem && problem.killed === true) {
    return new Problem('unavailable', `\`op\` did not answer within ${DEADLINE / 1000} s: unlock 1Password, try again`);
  }
  const line = said
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 300);
  const text = `\`op\` refuses: ${line === '' ? 'it says nothing' : line}`;
  return /isn't an item|isn't a field|does not have a field|no item/i.test(line)
    ? new NotInVault('not_found', text)
    : new Problem('unavailable', text);
}
