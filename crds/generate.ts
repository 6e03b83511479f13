import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { FIELD_LIST, readFieldList, renderFieldList } from './generate/field-list.ts';
import { generatedFiles, GENERATED_FOLDERS, WRITTEN_ELSEWHERE } from './generate/generated-files.ts';
import { DEFAULT_API_GROUP } from './kinds/kind-names.ts';

// Writes the CRDs, the chart's copy, the run configuration's schema and the reference. `--api-group` sets the group of the CRDs.

const { values } = parseArgs({ options: { 'api-group': { type: 'string', default: DEFAULT_API_GROUP } } });
const root = join(import.meta.dirname, '..');
const files = generatedFiles(values['api-group']);
const kept = new Set([...files.keys(), ...WRITTEN_ELSEWHERE]);

for (const folder of GENERATED_FOLDERS) {
  mkdirSync(join(root, folder), { recursive: true });
  for (const name of readdirSync(join(root, folder))) {
    if (!kept.has(`${folder}/${name}`)) rmSync(join(root, folder, name), { recursive: true });
  }
}
for (const [path, text] of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const fieldList = join(root, FIELD_LIST);
writeFileSync(fieldList, renderFieldList(existsSync(fieldList) ? readFieldList(readFileSync(fieldList, 'utf8')) : []));
console.log(`${files.size + 1} files generated`);
