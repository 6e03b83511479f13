import { explainProblems, type Problem, problemAt, type Source, TOLD } from '../parts/explain.ts';
import { Backend } from './backend.ts';
import { findBackendProblems } from './find-backend-problems.ts';
import { concernsAll, findProblems } from './find-problems.ts';
import { RunConfig } from './run-config.ts';

/** The result of reading a document: `config` if its form is valid. Each problem states whether it stops the whole runtime. */
export interface ReadRunConfig {
  readonly config?: RunConfig;
  readonly problems: readonly (Problem & { readonly concernsAll: boolean })[];
}

/** Reads a document like the runtime at its start: the form, then the rules across fields. */
export function readRunConfig(value: unknown, source: Pick<Source, 'file' | 'lineOf'>): ReadRunConfig {
  const { data, error } = RunConfig.safeParse(value);
  if (error) {
    const problems = explainProblems(error, { most: TOLD + 1, ...source, schema: RunConfig });
    return { problems: problems.map((problem) => ({ ...problem, concernsAll: true })) };
  }
  return {
    config: data,
    problems: findProblems(data).map((problem) => ({
      ...problemAt(problem.path, problem.message, source),
      concernsAll: concernsAll(problem),
    })),
  };
}

export function checkBackend(
  value: unknown,
  providers: readonly string[] | undefined,
  source: Pick<Source, 'file' | 'lineOf'>,
): Problem[] {
  const { data, error } = Backend.safeParse(value);
  if (error) return explainProblems(error, { most: TOLD + 1, ...source, schema: Backend });
  return findBackendProblems(data, providers).map(({ path, message }) => problemAt(path, message, source));
}
