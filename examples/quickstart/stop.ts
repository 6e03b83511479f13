// `make down`: ends vmcp and the identity providers.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { locateState } from '#local/state-folder';
import { stopIdentityProviders } from './identity-providers.ts';

const ROOT = join(import.meta.dirname, '../..');

const { status } = spawnSync(process.execPath, [join(ROOT, 'dist/vmcp.js'), 'down'], { cwd: ROOT, stdio: 'inherit' });
await stopIdentityProviders(locateState(join(ROOT, '.vmcp')));
process.exitCode = status ?? 1;
