import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderFlags } from './render-flags.ts';

// Writes the reference page of the program.
writeFileSync(join(import.meta.dirname, '../../docs/reference/management-program.md'), await renderFlags());
