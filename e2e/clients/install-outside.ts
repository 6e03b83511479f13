// Installs the clients of `make test-clients`. Existing installations stay.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTSIDE, OUTSIDE_FOLDER, PYTHON } from './outside-versions.ts';

const run = (command: string, args: readonly string[]) =>
  execFileSync(command, args, { cwd: OUTSIDE_FOLDER, stdio: ['ignore', 'inherit', 'inherit'] });

mkdirSync(OUTSIDE_FOLDER, { recursive: true });
if (!existsSync(join(OUTSIDE_FOLDER, 'package.json'))) {
  writeFileSync(join(OUTSIDE_FOLDER, 'package.json'), '{"private":true}');
}
run('npm', ['install', '--no-audit', '--no-fund', '--save-exact', ...OUTSIDE.npm]);
if (!existsSync(PYTHON)) run('python3', ['-m', 'venv', 'python']);
run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...OUTSIDE.pypi]);
