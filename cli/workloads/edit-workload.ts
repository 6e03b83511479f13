import { isMap, parseDocument } from 'yaml';
import { explainProblems } from '#crds/parts/explain';
import { readYamlDocuments } from '#local/yaml-documents';
import { editWorkload, getWorkload } from '#management/operations/workloads';
import { type WorkloadDetail, WorkloadEdit } from '#management/records/workload';
import { sameValue } from '#management/same-value';
import { writeText } from '#operator/yaml-text';
import type { Context } from '../context.ts';
import { editText } from '../edit/edit-text.ts';
import { tellLines } from '../edit/tell-lines.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { readGiven } from '../read-given.ts';
import { shownLine } from '../shown-output.ts';

const ABOUT = `Edit it, save and close: what it says is done then. Close it unchanged, or empty, and nothing is.
A field that you remove is taken away. Secrets are references <secret>/<key>: see vmcp secret.`;

/** Bytes, more than the API accepts for a body. */
const LONGEST_TEXT = 4_194_304;

/** Problems of one text that are shown at once. */
const MOST_PROBLEMS = 20;

export interface EditOptions {
  file?: string;
  force: boolean;
}

/** `-` means standard input. Returns whether the workload changed. @throws CliError */
export async function editByPerson(
  api: ManagementApi,
  name: string,
  { file, force }: EditOptions,
  context: Context,
): Promise<boolean> {
  const { body: before, etag } = await api.call(getWorkload, { params: { name } });
  const apply = async (text: string): Promise<void> => {
    const after = readDetail(text);
    const body = { ...emptied(before, after), ...after };
    const query = { force: force ? ('true' as const) : ('false' as const) };
    const { body: changed } = await api.call(editWorkload, { params: { name }, query, body, ifMatch: etag });
    for (const warning of changed.warnings ?? []) context.err.write(`${shownLine(warning)}\n`);
  };
  if (file !== undefined) {
    const text = await readGiven(file, LONGEST_TEXT, context);
    try {
      if (!force && sameValue(readDetail(text), before)) return false;
      await apply(text);
      return true;
    } catch (problem) {
      if (!(problem instanceof CliError) || problem.exitCode !== EXIT_CODES.input) throw problem;
      throw new CliError(EXIT_CODES.input, tellLines(problem.message, text), { cause: problem });
    }
  }
  return editText({
    name,
    text: writeText(before),
    about: [`Workload ${name} of ${api.place}.`, ...ABOUT.split('\n')],
    environment: context.environment,
    hasTerminal: context.input.isTTY === true,
    apply,
    mends: ({ exitCode }) => exitCode === EXIT_CODES.input,
  });
}

/** The operation validates it. @throws CliError when the text is no YAML mapping */
function readDetail(text: string): WorkloadEdit {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new CliError(EXIT_CODES.input, `not YAML: ${error.message.split('\n')[0] ?? ''}`);
  if (!isMap(document.contents))
    throw new CliError(
      EXIT_CODES.input,
      'the text has no fields: write it as vmcp get prints it, "name: value" in each line',
    );
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  const { data, error: wrong } = WorkloadEdit.safeParse(value);
  if (data) return data;
  const [read] = readYamlDocuments({ file: '', text }).documents;
  const source = { file: '', lineOf: read?.lineOf ?? (() => undefined), schema: WorkloadEdit, most: MOST_PROBLEMS };
  const lines = explainProblems(wrong, source).map(({ path, message }) => `${path || 'the text'}: ${message}`);
  throw new CliError(EXIT_CODES.input, lines.join('\n'));
}

const READ_ONLY: readonly string[] = ['name', 'host'];

/** The API keeps fields that are not sent. */
function emptied(before: WorkloadDetail, after: WorkloadEdit): WorkloadEdit {
  const gone = Object.keys(before).filter((field) => !(field in after) && !READ_ONLY.includes(field));
  return WorkloadEdit.parse(Object.fromEntries(gone.map((field) => [field, null])));
}
