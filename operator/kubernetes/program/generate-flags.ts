import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderFlags } from './render-flags.ts';

// Writes the reference page of the operator.
writeFileSync(join(import.meta.dirname, '../../../docs/reference/operator.md'), await renderFlags());
