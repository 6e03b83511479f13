import { HttpUrl } from '../parts/primitives.ts';

/** A value in a run configuration that its schema accepts and the runtime cannot serve. */
export interface DocumentProblem {
  readonly path: readonly (string | number)[];
  /** `what; remedy`. */
  readonly message: string;
}

const NOT_HTTP = 'not an http or https URL without user name and password; write for example https://host.example/path';

/** Checks a URL that the runtime calls over HTTP. Accepts undefined. */
export function httpProblems(url: string | undefined, path: DocumentProblem['path']): DocumentProblem[] {
  return url === undefined || HttpUrl.safeParse(url).success ? [] : [{ path, message: NOT_HTTP }];
}
