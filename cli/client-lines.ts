import { CLIENTS } from '#management/clients/files/clients';
import type { Context } from './context.ts';
import { EDITORS } from '#management/clients/files/edit-config';

export function printClientLines(name: string, url: string, { typed }: Pick<Context, 'typed'>): string[] {
  return CLIENTS.flatMap(({ id, name: client, command, format, table, entry }) => {
    const text = command?.(name, url) ?? EDITORS[format].print(table, name, entry(name, url));
    const compact = format === 'json' || format === 'jsonc' ? text.replaceAll(/\s*\n\s*/g, ' ') : text;
    return [`  ${client} (${typed(`connect ${id} --write`)}):`, ...compact.split('\n').map((line) => `    ${line}`)];
  });
}
