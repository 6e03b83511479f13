import type { Option } from 'commander';
import type { FlagGroups } from './shared-flags.ts';

function row(option: Option): string {
  const { long = '', flags, description, argChoices } = option;
  const argument = flags.slice(long.length).trim();
  const name = `\`${argument === '' ? long : `${long} ${argument}`}\``;
  const choices = argChoices ? `; one of ${argChoices.map((choice) => `\`${choice}\``).join(', ')}` : '';
  return `| ${name} | ${usualValue(option)} | ${capitalised(description)}${choices}. |`;
}

function usualValue({ mandatory, defaultValue, defaultValueDescription: described }: Option): string {
  if (mandatory) return 'required';
  if (described !== undefined) return described;
  if (typeof defaultValue === 'boolean') return defaultValue ? 'on' : 'off';
  return typeof defaultValue === 'string' || typeof defaultValue === 'number' ? `\`${defaultValue}\`` : '';
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function flagTables(groups: FlagGroups): string[] {
  return Object.entries(groups).map(
    ([title, options]) => `## ${title}\n\n| Flag | Default | Meaning |\n|---|---|---|\n${options.map(row).join('\n')}`,
  );
}

/** Renders the section about a program's own metrics. `text` is the answer of `/metrics`. */
export function metricTable(text: string): string {
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name, kind]));
  const own = [...text.matchAll(/^# HELP (vmcp_\S+) (.*)$/gm)];
  const rows = own.map(([, name = '', help = '']) => `| \`${name}\` | ${kinds.get(name) ?? ''} | ${help} |`);
  return `## Metrics\n\nBesides those of the process (\`process_*\`, \`nodejs_*\`):\n\n| Metric | Kind | Meaning |\n|---|---|---|\n${rows.join('\n')}`;
}
