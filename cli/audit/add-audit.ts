import { Option } from 'commander';
import { AUDIT_OUTCOMES } from '#crds/parts/audit-line';
import { contextOf, output, type Parts, readDuration, type StateOptions } from '../command-parts.ts';
import { addServerOptions } from '../management/target.ts';
import { audit, type AuditOptions } from './audit.ts';

const HELP = `
Locally it reads the logs of what "vmcp up" runs, and each audit.logFile with its rotated files. In a cluster it reads the logs
of the runtime pods. Lines are there where audit.enabled is true; -o json prints them unchanged, one in a line.`;

export function addAudit({ program, deps, stop, finish }: Parts): void {
  const command = program
    .command('audit')
    .description('show the audit log: who called what, with which outcome, and which policy decided')
    .addOption(
      new Option('--since <duration>', 'how far back').argParser(readDuration).default(readDuration('24h'), '24h'),
    )
    .option('--user <user>', 'name or subject of the caller')
    .option('--tool <name>', 'advertised name of the tool or prompt, or URI of the resource')
    .option('--backend <name>', 'backend of the target')
    .addOption(new Option('--outcome <outcome>', 'result of the request').choices(AUDIT_OUTCOMES))
    .option('--summary', 'count the lines by user, target, backend and outcome, with durations', false)
    .addOption(new Option('-f, --follow', 'go on, and print new lines').default(false).conflicts('summary'))
    .addOption(output('table', 'json'))
    .addHelpText('after', HELP)
    .examples(
      'vmcp audit --since 1h --outcome denied',
      'vmcp audit --user bob@example.com --summary',
      'vmcp audit --context production -n team-a --follow',
    );
  addServerOptions(command).action(async (options: StateOptions & AuditOptions) =>
    finish(await audit(options, contextOf(deps, options), stop)),
  );
}
