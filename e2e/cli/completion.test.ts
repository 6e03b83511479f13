import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { server } from '../local/manifests.ts';
import { eventually, makeWorkplace, PROGRAM, type Workplace } from '../local/run-vmcp.ts';

let place: Workplace;
let scripts: Record<string, string>;
let environment: NodeJS.ProcessEnv;
beforeAll(async () => {
  place = makeWorkplace();
  mkdirSync(join(place.path, 'bin'));
  const program = join(place.path, 'bin', 'vmcp');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  environment = { ...process.env, PATH: `${join(place.path, 'bin')}:${process.env.PATH ?? ''}` };
  scripts = {};
  for (const shell of ['bash', 'zsh', 'fish']) scripts[shell] = (await place.run(['completion', shell])).stdout;
  place.manifest('server.yaml', server('demo', 0).replace(/\n *resourceUrl: .*/, ''));
  place.start(['up', 'manifests']);
  await eventually(
    () => place.run(['status', '-o', 'json']),
    ({ stdout }) => stdout.includes('"name": "demo"'),
    60_000,
  );
});
afterAll(() => place.close());

const sh = (program: string, script: string): string =>
  execFileSync(program, program === 'zsh' ? ['-f', '-c', script] : ['-c', script], {
    encoding: 'utf8',
    cwd: place.path,
    env: environment,
  }).trim();

/** Returns whether this machine has the shell. Every machine has bash. */
function has(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const inBash = (line: string): string[] =>
  sh(
    'bash',
    `${scripts.bash ?? ''}
COMP_WORDS=(${line.endsWith(' ') ? `${line}""` : line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _vmcp; printf '%s\\n' "\${COMPREPLY[@]}"`,
  )
    .split('\n')
    .sort();

/** Returns the words that the script offers in zsh: stubs of zsh's own functions print their arguments. */
const inZsh = (line: string): string[] =>
  sh(
    'zsh',
    `compdef() { }; compadd() { [[ $1 == -- ]] && shift; print -l -- "$@" }; _files() { print folders }
_describe() { print -l -- \${(P)2} }
${scripts.zsh ?? ''}
words=(${line.endsWith(' ') ? `${line}""` : line}); CURRENT=\${#words}; _vmcp`,
  )
    .split('\n')
    .sort();

const inFish = (line: string): string[] =>
  sh('fish', `${scripts.fish ?? ''}\ncomplete -C '${line}'`)
    .split('\n')
    .map((word) => word.split('\t')[0] ?? '')
    .sort();

/** Waits for the word: completion gives up asking for names after 300 ms, and offers them at the next key press. */
const offers = (complete: () => string[], word: string) =>
  eventually(complete, (words) => words.includes(word), 60_000);

describe('completion in bash', () => {
  it('offers commands, options, choices, and arguments of options', () => {
    expect(inBash('vmcp va')).toEqual(['validate']);
    expect(inBash('vmcp up --de')).toEqual(['--detach']);
    expect(inBash('vmcp status -o ')).toEqual(['json', 'name', 'table', 'yaml']);
    expect(inBash('vmcp status --output j')).toEqual(['json']);
    expect(inBash('vmcp up m')).toEqual(['manifests']);
  });

  it('offers the names of running servers', () => {
    expect(inBash('vmcp status ')).toContain('demo');
    expect(inBash('vmcp token --server ')).toEqual(['demo']);
  });

  it('offers subcommands, and the names that each of them takes', async () => {
    expect(inBash('vmcp secret s')).toEqual(['set', 'setup']);
    expect(inBash('vmcp client register cu')).toEqual(['cursor']);
    await offers(() => inBash('vmcp group get '), 'demo');
    await offers(() => inBash('vmcp list --group '), 'demo');
  });

  it('offers registry entries and newly created names', async () => {
    await offers(() => inBash('vmcp registry info gith'), 'github-remote');
    await offers(() => inBash('vmcp run tim'), 'time');
    await place.run(['group', 'create', 'second']);
    await offers(() => inBash('vmcp group rm s'), 'second');
  });

  it('reads the given state folder, and offers nothing if nothing runs', () => {
    expect(inBash('vmcp token --state nowhere --server ')).toEqual(['']);
    expect(inBash('vmcp token --state .vmcp --server ')).toEqual(['demo']);
  });
});

(has('zsh') ? describe : describe.skip)('completion in zsh', () => {
  it('offers commands, options, choices, and names', async () => {
    expect(inZsh('vmcp ').some((line) => line.startsWith('validate:'))).toBe(true);
    expect(inZsh('vmcp up ')).toEqual(expect.arrayContaining(['--detach', 'folders']));
    expect(inZsh('vmcp status -o ')).toEqual(['json', 'name', 'table', 'yaml']);
    expect(inZsh('vmcp token --server ')).toEqual(['demo']);
    expect(inZsh('vmcp token --state nowhere --server ')).toEqual(['']);
    expect(inZsh('vmcp secret ')).toEqual(expect.arrayContaining(['set', 'list']));
    await offers(() => inZsh('vmcp list --group '), 'demo');
  });
});

(has('fish') ? describe : describe.skip)('completion in fish', () => {
  it('offers commands, options, choices, and names', async () => {
    expect(inFish('vmcp va')).toEqual(['validate']);
    expect(inFish('vmcp up --de')).toEqual(['--detach']);
    expect(inFish('vmcp status -o ')).toEqual(['json', 'name', 'table', 'yaml']);
    expect(inFish('vmcp token --server ')).toEqual(['demo']);
    expect(inFish('vmcp token --state nowhere --server ')).toEqual(['']);
    expect(inFish('vmcp secret s')).toEqual(['set', 'setup']);
    // Completion offers subcommands once, and no subcommands of another command with the same name.
    expect(inFish('vmcp secret rm l')).toEqual(['']);
    expect(inFish('vmcp group list --')).not.toContain('--all');
    expect(inFish('vmcp rm --g')).toEqual(['--group']);
    await offers(() => inFish('vmcp list --group '), 'demo');
  });
});
