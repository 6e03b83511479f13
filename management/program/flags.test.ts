import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type Flags, readFlags } from './flags.ts';
import { renderFlags } from './render-flags.ts';

function read(...args: string[]): { flags?: Flags; said: string } {
  let said = '';
  const print = (text: string) => {
    said += text;
  };
  try {
    return { flags: readFlags(args, '1.2.3', { out: print, err: print }), said };
  } catch {
    return { said };
  }
}

describe('readFlags', () => {
  it('requires no flag', () => {
    expect(read().flags).toEqual({
      apiGroup: 'vmcp.dev',
      watchNamespace: [],
      name: 'vmcp',
      port: 4485,
      allowPrivateAddresses: false,
      bindAddress: '::',
      healthPort: 8081,
      metricsPort: 8080,
      logLevel: 'info',
      logFormat: 'json',
    });
  });

  it('accepts every flag of the reference page', () => {
    const args = ['--name=a', '--port=1', '--default-namespace=team', '--sigstore-roots=/roots', '--context=c'];
    expect(read(...args, '--allow-private-addresses', '--watch-namespace=a,b').flags).toMatchObject({
      name: 'a',
      port: 1,
      defaultNamespace: 'team',
      sigstoreRoots: '/roots',
      context: 'c',
      allowPrivateAddresses: true,
      watchNamespace: ['a', 'b'],
    });
  });

  it.each([
    ['--default-namespace=Team', 'Write a name of Kubernetes'],
    ['--port=70000', 'Write a whole number from 0 to 65535.'],
    ['--management-port=4485', 'unknown option'],
    ['--runtime-image=a', 'unknown option'],
  ])('rejects %s with its name and the remedy', (argument, remedy) => {
    const { flags, said } = read(argument);
    expect(flags).toBeUndefined();
    expect(said).toContain(argument.split('=')[0]);
    expect(said).toContain(remedy);
  });

  it('matches the generated reference page', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/reference/management-program.md'), 'utf8');
    expect(page).toBe(await renderFlags());
    expect(page).toContain('| `--default-namespace <name>` |');
    expect(page).toContain('| `vmcp_management_api_requests_total` | counter |');
  });
});
