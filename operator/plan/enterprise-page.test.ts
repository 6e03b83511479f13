import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { OBJECTS } from '#crds/kinds/schemas';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/enterprise-managed-authorization.md'), 'utf8');
const documents = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].flatMap(([, text = '']) =>
  parseAllDocuments(text).map((document) => document.toJS() as { kind: keyof typeof OBJECTS }),
);

describe('docs/how-to/enterprise-managed-authorization.md', () => {
  it('shows valid resources', () => {
    expect(documents.map(({ kind }) => kind)).toEqual([
      ...['VirtualMCPServer', 'MCPGroup'],
      ...['MCPExternalAuthConfig', 'MCPServer', 'MCPExternalAuthConfig'],
    ]);
    for (const document of documents) expect(() => OBJECTS[document.kind].parse(document)).not.toThrow();
  });
});
