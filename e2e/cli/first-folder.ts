import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeWorkplace, PROGRAM, ROOT, type Workplace } from '../local/run-vmcp.ts';

/** The registry entry of the package. */
const REGISTRY = {
  servers: {
    'tell-secret': {
      description: 'Proves which secret it has',
      image: 'npx://tell-secret',
      transport: 'stdio',
      args: ['--loud'],
      env_vars: [
        { name: 'TOKEN', required: true, secret: true, description: 'Any word' },
        { name: 'MODE', required: true, default: 'quiet' },
      ],
    },
  },
};

/** A directory without any file of vmcp. It has an npm package on stdio that needs a secret, and a registry that lists the package. */
export interface FirstFolder extends Workplace {
  /** Runs a command with its own home directory. */
  vmcp(...args: string[]): ReturnType<Workplace['run']>;
  /** Runs a command on a terminal, and types an answer to each question. Returns all terminal output. */
  onTerminal(args: string[], answers: readonly (readonly [question: string, answer: string])[]): Promise<string>;
}

export function makeFirstFolder(): FirstFolder {
  const place = makeWorkplace();
  const home = join(place.path, 'home');
  mkdirSync(home);
  addPackage(place.path);
  writeFileSync(join(place.path, 'servers.json'), JSON.stringify(REGISTRY));
  const environment = { HOME: home, TOKEN: '', npm_config_offline: 'true' };
  return {
    ...place,
    vmcp: (...args) => place.run(args, environment),
    onTerminal: (args, answers) => onTerminal(place.path, args, answers, environment),
  };
}

/** Adds the package as `npm install` does. */
function addPackage(path: string): void {
  const folder = join(path, 'node_modules', 'tell-secret');
  const bin = join(path, 'node_modules', '.bin');
  mkdirSync(folder, { recursive: true });
  mkdirSync(bin);
  const main = join(folder, 'main.sh');
  const server = join(ROOT, 'e2e', 'cli', 'testdata', 'tell-secret.ts');
  writeFileSync(main, `#!/bin/sh\nexec '${process.execPath}' '${server}' "$@"\n`);
  chmodSync(main, 0o755);
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'tell-secret', version: '1.0.0', bin: { 'tell-secret': 'main.sh' } }),
  );
  symlinkSync('../tell-secret/main.sh', join(bin, 'tell-secret'));
}

async function onTerminal(
  cwd: string,
  args: string[],
  answers: readonly (readonly [string, string])[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const line = [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qfec', line, '/dev/null'], { cwd, env: { ...process.env, ...environment } });
  let shown = '';
  const left = [...answers];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    shown += part;
    const [next] = left;
    if (!next || !shown.includes(next[0])) return;
    left.shift();
    child.stdin.write(`${next[1]}\r`);
  });
  await new Promise((resolve) => child.once('close', resolve));
  return shown;
}
