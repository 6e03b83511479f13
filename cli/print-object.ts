import { writeText } from '#operator/yaml-text';

export function printObject(value: unknown, format: 'json' | 'yaml'): string {
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : writeText(value);
}
