import { describe, expect, it } from '@jest/globals';
import { AUDIT_EVENT_TYPES } from '#crds/parts/audit';
import { AuditLine } from '#crds/parts/audit-line';
import { AUDIT_EXAMPLES } from './audit-examples.ts';
import { auditReference, exampleOf } from './audit-reference.ts';

const types = Object.keys(AUDIT_EXAMPLES) as (keyof typeof AUDIT_EXAMPLES)[];

describe('the reference of the audit log', () => {
  it('has an example of each event type, in the order of the types', () => {
    expect(types).toEqual([...AUDIT_EVENT_TYPES, 'management_<operation>']);
    const headings = [...auditReference().matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(types);
  });

  it.each(types)('shows a valid line for %s', (type) => {
    expect(AuditLine.parse(exampleOf(type))).toEqual(exampleOf(type));
  });
});
