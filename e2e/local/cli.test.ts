import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { headerAuth, secret, server, whoami } from './manifests.ts';
import { makeWorkplace, PROGRAM, ROOT, type Workplace } from './run-vmcp.ts';

let place: Workplace;
beforeAll(() => {
  place = makeWorkplace();
  place.manifest('server.yaml', server('demo', 4599));
  place.manifest('backend.yaml', whoami('keyed', 'demo', 4598, '  externalAuthConfigRef: {name: key}\n'));
  place.manifest('key.yaml', headerAuth('key', 'key'));
  place.manifest('secret.yaml', secret('key', 'the very secret value'));
});
afterAll(() => place.close());

describe('the command line', () => {
  it('prints its version for people and for programs', async () => {
    expect((await place.run(['version'])).stdout).toMatch(/^vmcp \d+\.\d+\.\d+\n$/);
    expect(JSON.parse((await place.run(['version', '-o', 'json'])).stdout)).toHaveProperty('version');
    expect((await place.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('prints help with examples and exit codes', async () => {
    const { code, stdout } = await place.run(['--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`$ node ${PROGRAM} up examples/quickstart --detach`);
    expect(stdout).toContain('3  nothing runs here');
    expect((await place.run(['up', '--help'])).stdout).toContain('Examples:');
  });

  it.each([
    [['nonsense']],
    [['up', '--nonsense']],
    [['token']],
    [['status', '-o', 'xml']],
    [['up', '--timeout', 'soon']],
    [['connect', 'emacs']],
  ])('refuses %j as wrong usage, with code 2', async (args) => {
    const { code, stderr } = await place.run(args);
    expect(code).toBe(2);
    expect(stderr).toContain('error:');
  });

  it.each([
    [['try', 'nonsense'], 'is no URL'],
    [['try', 'localhost:4483/mcp'], 'is no URL'],
    [['doctor', 'nonsense'], 'is no URL'],
    [['connect', 'cursor', '--url', 'nonsense'], 'is no URL'],
  ])('names the problem in %j, with code 2', async (args, message) => {
    expect(await place.run(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  it('names a file that cannot be read, with code 1', async () => {
    const seen = await place.run(['doctor', 'http://127.0.0.1:4483/mcp', '--token-file', 'nowhere']);
    expect(seen).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('nowhere cannot be read') });
  });

  it('names the missing process if nothing runs', async () => {
    const commands = [
      ['status'],
      ['status', '-o', 'json'],
      ['token', 'alice'],
      ['try'],
      ['doctor'],
      ['connect', 'zed'],
    ];
    for (const args of commands) {
      expect(await place.run(args)).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining(" up '<folder"),
      });
    }
  });
});

describe('vmcp validate', () => {
  it('accepts a valid folder, and starts and writes nothing', async () => {
    const { code, stdout } = await place.run(['validate', 'manifests']);
    expect(stdout).toBe('manifests: 4 resources (vmcp.dev/v1alpha1), valid\n');
    expect(code).toBe(0);
    expect(() => place.read('.vmcp/.gitignore')).toThrow('ENOENT');
  });

  it('warns of an endpoint without credentials', async () => {
    expect((await place.run(['validate', 'manifests'])).stderr).toMatch(
      /server\.yaml:1: .*NoAccessControl.*\(warning\)/,
    );
  });

  it('prints the API group that it read', async () => {
    mkdirSync(join(place.path, 'foreign'));
    const text = server('demo', 4599).replaceAll('vmcp.dev', 'mcp.example.test');
    writeFileSync(join(place.path, 'foreign', 'server.yml'), text);
    expect((await place.run(['validate', 'foreign'])).stdout).toContain('(mcp.example.test/v1alpha1), valid');
  });

  it('prints file, line, path and message for programs', async () => {
    mkdirSync(join(place.path, 'bad'));
    writeFileSync(join(place.path, 'bad', 'a.yaml'), server('demo', 4599).replace('groupRef', 'groupReff'));
    const { code, stdout } = await place.run(['validate', 'bad', '-o', 'json']);
    expect(code).toBe(1);
    const { valid, problems } = JSON.parse(stdout) as { valid: boolean; problems: Record<string, unknown>[] };
    expect(valid).toBe(false);
    const unknown = problems.find(({ path }) => path === 'spec.config.groupReff');
    expect(unknown).toMatchObject({
      file: expect.stringMatching(/bad\/a\.yaml$/),
      line: 5,
      message: expect.stringContaining('groupRef'),
    });
  });

  it('prints the line of a field whose reference is wrong, too', async () => {
    mkdirSync(join(place.path, 'apart'));
    writeFileSync(
      join(place.path, 'apart', 'a.yaml'),
      server('demo', 4599).replace('groupRef: demo', 'groupRef: none'),
    );
    const { stdout } = await place.run(['validate', 'apart', '-o', 'json']);
    const { problems } = JSON.parse(stdout) as { problems: Record<string, unknown>[] };
    expect(problems).toMatchObject([{ line: 5, message: expect.stringContaining('MCPGroup "none"') }]);
  });
});

describe('vmcp render', () => {
  it('prints the planned objects, with placeholders for secrets', async () => {
    const { code, stdout, stderr } = await place.run(['render', 'manifests']);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain('the very secret value');
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Record<string, unknown>);
    const rendered = documents.find((document) => 'run_config' in document);
    expect(rendered).toMatchObject({
      resource: { kind: 'VirtualMCPServer', name: 'demo' },
      run_config: { listen: { port: 4599 }, backends: [{ name: 'keyed', auth: { type: 'header_injection' } }] },
    });
    expect(Object.values(rendered?.secret_files as object)).toContain('<secret key/value>');
  });

  it('prints the same output each time, independent of the secrets', async () => {
    const first = await place.run(['render', 'manifests', '-o', 'json']);
    place.manifest('secret.yaml', secret('key', 'another value'));
    expect((await place.run(['render', 'manifests', '-o', 'json'])).stdout).toBe(first.stdout);
  });
});

describe('vmcp completion', () => {
  it('completes commands and options in bash', async () => {
    const { stdout } = await place.run(['completion', 'bash']);
    const ask = (words: string) =>
      execFileSync(
        'bash',
        [
          '-c',
          `${stdout}\nCOMP_WORDS=(vmcp ${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _vmcp; echo "\${COMPREPLY[@]}"`,
        ],
        {
          encoding: 'utf8',
        },
      );
    expect(ask('va').trim()).toBe('validate');
    expect(ask('up --de').trim()).toBe('--detach');
    expect(ask('completion z').trim()).toBe('zsh');
    // Completion offers folders only for arguments that may be one.
    expect(ask('connect c').trim()).toBe('claude-code cursor codex');
    expect(ask('up cr').trim()).toBe('crds');
  });

  it('knows every command in zsh and fish', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { stdout } = await place.run(['completion', shell]);
      for (const name of ['up', 'down', 'validate', 'render', 'status', 'logs', 'try', 'connect', 'doctor', 'token'])
        expect(stdout).toContain(name);
    }
  });
});

describe('the repository’s manifests', () => {
  it('contain a valid quickstart', async () => {
    const { code, stderr } = await place.run(['validate', join(ROOT, 'examples/quickstart')]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('contain a valid example with three providers', async () => {
    const { code, stderr } = await place.run(['validate', join(ROOT, 'examples/providers')]);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('render the same each time, with placeholders for the keys of the authorization server', async () => {
    const render = () => place.run(['render', join(ROOT, 'examples/quickstart'), '-o', 'json']);
    const { code, stdout } = await render();
    expect([code, (await render()).stdout]).toEqual([0, stdout]);
    for (const key of ['signingKey', 'hmacSecret']) expect(stdout).toContain(`<generated: ${key}>`);
    expect(() => place.read('.vmcp/logins')).toThrow('ENOENT');
  });
});
