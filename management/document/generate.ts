import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATIONS } from '../operations/table.ts';
import { generatedDocuments } from './generated-documents.ts';

for (const [path, text] of generatedDocuments(OPERATIONS))
  writeFileSync(join(import.meta.dirname, '../..', path), text);
