import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { MCPExternalAuthConfigSpec, MCPServerSpec } from '#crds/kinds/index';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/enterprise-managed-authorization.md'), 'utf8');
const documents = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].flatMap(([, text = '']) =>
  parseAllDocuments(text).map((document) => document.toJS() as { kind: string; spec: object }),
);
const SPECS = { MCPExternalAuthConfig: MCPExternalAuthConfigSpec, MCPServer: MCPServerSpec };

describe('docs/how-to/enterprise-managed-authorization.md', () => {
  it('shows valid resources', () => {
    expect(documents.map(({ kind }) => kind)).toEqual(['MCPExternalAuthConfig', 'MCPServer', 'MCPExternalAuthConfig']);
    for (const { kind, spec } of documents) expect(() => SPECS[kind as keyof typeof SPECS].parse(spec)).not.toThrow();
  });
});
