import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FIELD_LIST, presentFields, readFieldList, renderFieldList } from '#crds/generate/field-list';

const kept = readFieldList(readFileSync(join(import.meta.dirname, '../..', FIELD_LIST), 'utf8'));
const present = presentFields();

describe('fields of v1alpha1 and of run configurations', () => {
  it('keep all earlier fields, types and values', () => {
    const known = new Set(present);
    expect(kept.filter((line) => !known.has(line))).toEqual([]);
    expect(kept).toContain('VirtualMCPServer spec.config.groupRef string');
    expect(kept).toContain('RunConfig schema_version = "v0.1.0"');
  });

  it('include no time of a probe in a status, which would cause constant writes', () => {
    const ofStatus = present.filter((line) => / status\b/.test(line));
    expect(ofStatus).toContain('VirtualMCPServer status.conditions[].lastTransitionTime string');
    expect(ofStatus.filter((line) => /prob|checked|seen/i.test(line))).toEqual([]);
  });

  it('stay in the list after their removal from a schema', () => {
    const gone = 'VirtualMCPServer spec.gone string';
    expect(readFieldList(renderFieldList([...kept, gone]))).toContain(gone);
  });
});
