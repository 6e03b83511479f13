import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderRoles } from './render-roles.ts';

const root = join(import.meta.dirname, '../../..');
for (const [path, text] of renderRoles()) writeFileSync(join(root, path), text);
