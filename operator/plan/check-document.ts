import type { Problem } from '#crds/parts/explain';
import { valueAt } from '#crds/parts/rule';
import { checkBackend, readRunConfig } from '#crds/run-config/read-run-config';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import { type BackendPlaces, type DocumentPlaces, fieldOfBackend, fieldOfDocument } from './field-of-document.ts';

/** Absent values have no line, so a message distinguishes a missing value from a wrong one. */
const sourceOf = (document: object) => ({
  file: '',
  lineOf: (path: (string | number)[]) => (valueAt(document, path.map(String)) === undefined ? undefined : 1),
});

function refuse(problems: readonly Pick<Problem, 'path' | 'message'>[], fieldOf: (path: string) => string): void {
  if (problems.length === 0) return;
  const texts = problems.map(({ path, message }) => `${fieldOf(path)}: ${message}`);
  throw new Stalled('InvalidRunConfiguration', texts.join('; '));
}

/** Reads a document as the runtime does, so that the runtime rejects none. `places`: absent if it is not from fields. @throws Stalled */
export function checkDocument(document: RunConfigDocument, places?: DocumentPlaces): void {
  const { problems } = readRunConfig(document, sourceOf(document));
  refuse(
    problems,
    (path) => (places && fieldOfDocument(path, places)) ?? `the run configuration would be refused at ${path}`,
  );
}

/** Reads the document of one backend as the runtime does. `providers`: names of the document's upstream providers. @throws Stalled */
export function checkBackendDocument(
  entry: RunConfigDocument['backends'][number],
  providers: readonly string[],
  places: BackendPlaces,
): void {
  const problems = checkBackend(entry, providers.length === 0 ? undefined : providers, sourceOf(entry));
  refuse(problems, (path) => fieldOfBackend(path, places));
}
