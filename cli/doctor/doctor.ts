import { chooseEndpoint, type EndpointOptions } from '../choose-url.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { readGiven } from '../read-given.ts';
import type { Context } from '../context.ts';
import { printObject } from '../print-object.ts';
import { printTable } from '../print-records.ts';
import { checkAssertions } from './check-assertions.ts';
import { checkAuthorize, checkForgottenClient, checkRegistration } from './check-clients.ts';
import { checkEndpoint, checkHostAndOrigin, checkProbes } from './check-endpoint.ts';
import { checkExtensions } from './check-extensions.ts';
import { checkKeys, checkResource, checkServer } from './check-metadata.ts';
import type { Examination, Finding } from './finding.ts';

export interface DoctorOptions extends EndpointOptions {
  register: boolean;
  /** `-` means standard input. */
  tokenFile?: string;
  output: 'table' | 'json';
}

type Check = (examined: Examination) => Promise<Finding[]>;

/** Checks are in the order of a client's requests; each adds its results for the next one. */
const LOGIN: Check[] = [
  ...[checkResource, checkServer, checkKeys],
  ...[checkRegistration, checkAuthorize, checkForgottenClient, checkAssertions],
];
const ALWAYS: Check[] = [checkProbes, checkExtensions, checkHostAndOrigin];

/** Turns each failure into a finding; never throws. */
export async function examine(examined: Examination): Promise<Finding[]> {
  const findings = await checkEndpoint(examined);
  if (findings[0]?.verdict !== 'ok') return findings;
  for (const check of [...(examined.challenge === undefined ? [] : LOGIN), ...ALWAYS]) {
    findings.push(...(await check(examined)));
  }
  return findings;
}

/** Characters. Longer than any token that fits into a request. */
const LONGEST_TOKEN = 65_536;

async function readToken(file: string | undefined, context: Pick<Context, 'input'>): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const token = (await readGiven(file, LONGEST_TOKEN, context)).trim();
  if (token !== '') return token;
  const where = file === '-' ? 'standard input' : file;
  throw new CliError(EXIT_CODES.input, `${where} is empty: pipe an access token in, or name a file with one`);
}

const MARKS = { ok: 'ok', warning: 'WARNING', failed: 'FAILED', skipped: 'skipped' } as const;

function printFindings(url: string, findings: Finding[], { out }: Context): void {
  const rows = findings.map(({ check, verdict, why }) => [MARKS[verdict], check, why]);
  const remedies = findings.flatMap(({ check, remedy, verdict }) =>
    remedy === undefined || verdict === 'ok' ? [] : [`  ${check}: ${remedy}`],
  );
  const count = (verdict: Finding['verdict']) => findings.filter((finding) => finding.verdict === verdict).length;
  const sum = `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed, ${count('skipped')} skipped`;
  const advice = remedies.length === 0 ? [] : ['', 'What to do:', ...remedies];
  out.write(`${[url, ...printTable(rows), ...advice, '', sum].join('\n')}\n`);
}

/** Returns exit code 1 if a check fails. */
export async function doctor(typed: string | undefined, options: DoctorOptions, context: Context): Promise<number> {
  const { url, server } = await chooseEndpoint(typed, options, context);
  const token = await readToken(options.tokenFile, context);
  const findings = await examine({ url, register: options.register, token, endpoint: server });
  const well = findings.every(({ verdict }) => verdict !== 'failed');
  if (options.output === 'json') context.out.write(printObject({ url, ok: well, checks: findings }, 'json'));
  else printFindings(url, findings, context);
  return well ? EXIT_CODES.ok : EXIT_CODES.input;
}
