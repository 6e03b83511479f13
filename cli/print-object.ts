import { writeText } from '#operator/yaml-text';

/** Returns a value as JSON or YAML with a line end. */
export function printObject(value: unknown, format: 'json' | 'yaml'): string {
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : writeText(value);
}
