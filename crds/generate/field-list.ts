import { KIND_NAMES, type KindName } from '../kinds/kind-names.ts';
import { OBJECTS } from '../kinds/schemas.ts';
import { RunConfig } from '../run-config/run-config.ts';
import { nodesOf, type SchemaNode } from './schema-node.ts';
import { jsonSchemaOf, structuralSchema } from './structural.ts';

export const FIELD_LIST = 'crds/fields.txt';

/** Returns `<kind> <path> <type>`, and `<kind> <path> = <value>` for each value of an enum. */
function fieldsOf(name: string, schema: SchemaNode): string[] {
  return [...nodesOf(schema)].flatMap(([path, node]) => {
    const values = [...(node.enum ?? []), ...(node.const === undefined ? [] : [node.const])];
    const types = node.type === undefined ? [] : [`${name} ${path} ${node.type}`];
    return path === '' ? [] : [...types, ...values.map((value) => `${name} ${path} = ${JSON.stringify(value)}`)];
  });
}

export function presentFields(): string[] {
  const kinds = Object.keys(KIND_NAMES) as KindName[];
  const ofKinds = kinds.flatMap((kind) => fieldsOf(kind, structuralSchema(OBJECTS[kind])));
  return [...new Set([...ofKinds, ...fieldsOf('RunConfig', jsonSchemaOf(RunConfig))])].sort();
}

export function readFieldList(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** Returns the list with new fields. It keeps all lines, as no field is removed within a version. */
export function renderFieldList(kept: readonly string[]): string {
  const note =
    '# Every field and value that a resource or a run configuration may have. Generation adds, and takes nothing away.\n';
  return `${note}${[...new Set([...kept, ...presentFields()])].sort().join('\n')}\n`;
}
