import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { AuditLine } from '#crds/parts/audit-line';

const SCHEMA = join(import.meta.dirname, '../../crds/audit-line.schema.json');

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
addFormats.default(ajv);
const isAuditLine = ajv.compile<AuditLine>(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object);

/** Returns the audit lines in a log that has other lines, too. @throws Error if one violates the published JSON Schema */
export function auditLinesIn(log: string): AuditLine[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{"audit_id"'))
    .map((line) => {
      const value: unknown = JSON.parse(line);
      if (!isAuditLine(value)) throw new Error(`${line}: ${ajv.errorsText(isAuditLine.errors)}`);
      return value;
    });
}
