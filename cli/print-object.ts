import { writeText } from '#operator/yaml-text';

/** A value as text for programs, with a line end. */
export function printObject(value: unknown, format: 'json' | 'yaml'): string {
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : writeText(value);
}
