// `make down`: ends vmcp and the identity provider.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { locateState } from '#operator/local/state-folder';
import { stopIdentityProvider } from './identity-provider.ts';

const ROOT = join(import.meta.dirname, '../..');

const { status } = spawnSync(process.execPath, [join(ROOT, 'dist/vmcp.js'), 'down'], { cwd: ROOT, stdio: 'inherit' });
await stopIdentityProvider(locateState(join(ROOT, '.vmcp')));
process.exitCode = status ?? 1;
