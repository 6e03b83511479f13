// Installs the official Python SDK into the user's cache folder. A complete installation stays as it is.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { PYTHON, PYTHON_FOLDER, PYTHON_INSTALLED, PYTHON_SDK } from './python-sdk.ts';

const DEADLINE_MS = 300_000;

const run = (command: string, args: string[]) =>
  execFileSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], timeout: DEADLINE_MS });

if (!existsSync(PYTHON_INSTALLED)) {
  mkdirSync(dirname(PYTHON_FOLDER), { recursive: true });
  run('python3', ['-m', 'venv', PYTHON_FOLDER]);
  run(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PYTHON_SDK]);
  writeFileSync(PYTHON_INSTALLED, '');
}
