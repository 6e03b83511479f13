import { HttpUrl } from '../parts/primitives.ts';

/** A value of a run configuration that its schema accepts and that cannot be served. */
export interface DocumentProblem {
  readonly path: readonly (string | number)[];
  /** `what; remedy`. */
  readonly message: string;
}

const NOT_HTTP = 'not an http or https URL without user name and password; write for example https://host.example/path';

/** Checks a URL that is called over HTTP. Undefined passes. */
export function httpProblems(url: string | undefined, path: DocumentProblem['path']): DocumentProblem[] {
  return url === undefined || HttpUrl.safeParse(url).success ? [] : [{ path, message: NOT_HTTP }];
}
