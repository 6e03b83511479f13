import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderFlags } from './render-flags.ts';

writeFileSync(join(import.meta.dirname, '../../../docs/reference/operator.md'), await renderFlags());
