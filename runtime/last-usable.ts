import { ConfigError } from '#runtime/errors';

interface LastUsableOptions {
  /** Current content of the file. @throws ConfigError */
  readonly read: () => string;
  /** @throws ConfigError for content that cannot be used; its message never holds the content */
  readonly check: (content: string) => unknown;
  /** Gets the reason, once for each change. */
  readonly warn: (reason: string) => void;
}

/**
 * Returns a function that gives the content of a file that changes. Content that cannot be used does not replace the last usable one.
 * @throws ConfigError if the file cannot be read, or its first content cannot be used
 */
export function lastUsable({ read, check, warn }: LastUsableOptions): () => string {
  let seen = read();
  check(seen);
  let usable = seen;
  return () => {
    const content = read();
    if (content === seen) return usable;
    seen = content;
    try {
      check(content);
      usable = content;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      warn(error.message);
    }
    return usable;
  };
}
