import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderRoles } from './render-roles.ts';

// Writes the roles of the chart and the page about them.
const root = join(import.meta.dirname, '../../..');
for (const [path, text] of renderRoles()) writeFileSync(join(root, path), text);
