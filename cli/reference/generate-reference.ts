import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderReference } from './render-reference.ts';

writeFileSync(join(import.meta.dirname, '../../docs/reference/cli.md'), renderReference());
