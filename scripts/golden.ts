import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenOutput } from '#operator/golden-case';

// Writes operator/plan/testdata/*.out.yaml from the inputs beside them. Read the difference before committing it.
const folder = join(import.meta.dirname, '../operator/plan/testdata');
for (const file of readdirSync(folder).filter((name) => name.endsWith('.in.yaml'))) {
  const output = goldenOutput(readFileSync(join(folder, file), 'utf8'));
  writeFileSync(join(folder, file.replace(/\.in\.yaml$/, '.out.yaml')), output);
  console.log(file);
}
