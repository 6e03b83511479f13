import { z } from 'zod';
import { AuditLine } from '../parts/audit-line.ts';
import { AUDIT_EXAMPLES } from './audit-examples.ts';
import { documentReference } from './reference.ts';
import type { SchemaNode } from './schema-node.ts';
import { jsonSchemaOf } from './structural.ts';

const PURPOSE =
  'One JSON object in a line. `crds/audit-line.schema.json` is its JSON Schema. [Audit](../operate/audit.md) says how to read and ship the lines.';

/** Returns the example of a type as a complete line. */
export function exampleOf(type: keyof typeof AUDIT_EXAMPLES): AuditLine {
  const { outcome, source, subjects = {}, target = {}, metadata = {}, data } = AUDIT_EXAMPLES[type];
  return {
    audit_id: '0b6c2d1e-5f0a-4a53-9a51-6e2f6f0c8d11',
    type: type === 'management_<operation>' ? 'management_workload_created' : type,
    logged_at: '2026-01-31T09:30:00.000Z',
    outcome,
    component: type === 'management_<operation>' ? 'vmcp-management' : 'team',
    ...(source !== undefined && { source }),
    ...{ subjects, target, metadata },
    ...(data && { data }),
  };
}

export function auditSchema(): object {
  return { ...z.toJSONSchema(AuditLine, { target: 'draft-2020-12' }), title: 'Line of the vmcp audit log' };
}

export function auditReference(): string {
  const examples = (Object.keys(AUDIT_EXAMPLES) as (keyof typeof AUDIT_EXAMPLES)[]).map(
    (type) => `### ${type}\n\n\`\`\`json\n${JSON.stringify(exampleOf(type))}\n\`\`\``,
  );
  const fields = documentReference('Audit line', PURPOSE, jsonSchemaOf(AuditLine) satisfies SchemaNode);
  return `${fields}\n## Examples\n\n${examples.join('\n\n')}\n`;
}
