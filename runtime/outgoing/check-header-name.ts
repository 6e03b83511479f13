import { AddedHeaderName } from '#crds/parts/primitives';
import { ConfigError } from '#runtime/errors';

/**
 * Returns the lower-case name of a header that may be added to requests to a backend.
 * @throws ConfigError
 */
export function checkHeaderName(name: string, backend: string): string {
  const { error } = AddedHeaderName.safeParse(name);
  if (error) {
    throw new ConfigError(
      `backend ${backend}: header ${JSON.stringify(name)} is ${error.issues[0]?.message ?? 'no name'}`,
    );
  }
  return name.toLowerCase();
}
