import { readFile, stat } from 'node:fs/promises';
import { explainIssues } from '#crds/parts/explain';
import { codeOf } from '#lib/files/write-file';
import { BOUNDS } from '../memory-bounds.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { excessOf } from '#operator/json-amounts';
import { type JsonBounds, readJson } from '../fetching/read-body.ts';
import { Problem } from '../problem.ts';
import { RegistryContent } from '../records/registry.ts';
import { callIfChanged, checkWeight, type Page, type Reading } from './page.ts';
import { readApi } from './read-api.ts';

/** The file is parsed in one event-loop turn. */
const AMOUNTS: JsonBounds = { bytes: BOUNDS.registries.file, objects: 100_000, values: 500_000 };

/** Returns unchanged pages of `former` as the same objects. @throws FetchFailure; for a file also Problem `bad_request` */
export const READ_SOURCE: Record<'file' | 'url' | 'api', (reading: Reading) => Promise<Page[]>> = {
  file: async ({ source, former, longest }) => [await readRegistryFile(source, former[0], longest)],
  url: async (reading) => [await readUrl(reading)],
  api: readApi,
};

async function readUrl(reading: Reading): Promise<Page> {
  const { source, longest } = reading;
  const answer = await callIfChanged(source, reading, reading.former[0]);
  if ('from' in answer) return answer;
  const { host } = answer.url;
  const value = await readJson(answer, AMOUNTS, parseRegistryText);
  if (hasNoList(value)) throw new FetchFailure('unexpected', `it is no registry file: ${host} ${NO_LIST}`);
  const parsed = RegistryContent.safeParse(value);
  if (!parsed.success) {
    const source = { file: host, lineOf: () => undefined, schema: RegistryContent, most: 1 };
    const [first = ''] = explainIssues(parsed.error, source);
    throw new FetchFailure('unexpected', `it is no registry file: ${first}`);
  }
  const tag = answer.headers.etag;
  return checkWeight({ from: source, ...(tag !== undefined && { tag }), content: parsed.data }, longest);
}

async function readRegistryFile(path: string, former: Page | undefined, longest: number): Promise<Page> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new Problem('bad_request', `${path} is no file; write the path of a registry file`);
    if (found.size > AMOUNTS.bytes) throw new Problem('bad_request', `${path} is longer than ${AMOUNTS.bytes} bytes`);
    const tag = `${found.mtimeMs}-${found.size}-${found.ino}`;
    if (former?.tag === tag) return former;
    return checkWeight({ from: path, tag, content: parseFile(path, await readFile(path, 'utf8')) }, longest);
  } catch (error) {
    if (error instanceof Problem || error instanceof FetchFailure) throw error;
    const remedy = 'write the path of a registry file that vmcp may read';
    throw new Problem('bad_request', `${path} cannot be read (${codeOf(error) ?? 'unknown'}); ${remedy}`);
  }
}

function parseFile(path: string, text: string): RegistryContent {
  const excess = excessOf(text, AMOUNTS);
  if (excess !== undefined) throw new Problem('bad_request', `${path} holds ${excess}`);
  let value: unknown;
  try {
    value = parseRegistryText(text);
  } catch (error) {
    // Messages of the parser repeat the text, which may be any file of this machine.
    const where = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new Problem('bad_request', `${path} is no JSON${where === undefined ? '' : ` ${where}`}`);
  }
  if (hasNoList(value)) throw new Problem('bad_request', `${path} ${NO_LIST}`);
  const parsed = RegistryContent.safeParse(value);
  if (parsed.success) return parsed.data;
  const told = { file: path, lineOf: () => undefined, schema: RegistryContent, most: 5 };
  throw new Problem('bad_request', explainIssues(parsed.error, told).join('. '));
}

const LISTS = ['servers', 'remote_servers', 'groups'];
const NO_LIST = `has none of ${LISTS.join(', ')}: a registry file has one at least, also where it is empty`;

/** Without this check any object would count as an empty registry and replace the previous content. */
const hasNoList = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !LISTS.some((name) => Object.hasOwn(value, name));

/** Registry files write the status in either case. */
function parseRegistryText(text: string): unknown {
  return JSON.parse(text, (key, value: unknown) =>
    key === 'status' && (value === 'Active' || value === 'Deprecated') ? value.toLowerCase() : value,
  );
}
