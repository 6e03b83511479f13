import { ConfigError } from '#runtime/errors';

interface LastUsableOptions {
  /** Current content of the file. @throws ConfigError */
  readonly read: () => string;
  /** @throws ConfigError for unusable content; its message never contains the content */
  readonly check: (content: string) => unknown;
  /** Receives the reason, once for each change. */
  readonly warn: (reason: string) => void;
}

/** Unusable content does not replace the last usable one. @throws ConfigError if the file, or its first content, is unusable */
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
