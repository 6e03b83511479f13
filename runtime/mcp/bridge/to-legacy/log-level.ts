/** RFC 5424, most verbose first. */
const LEVELS: readonly unknown[] = 'debug info notice warning error critical alert emergency'.split(' ');

/** `wanted`: the level of a call. Undefined: it wants no messages. */
export function isLogged(level: unknown, wanted: string | undefined): boolean {
  const least = LEVELS.indexOf(wanted);
  return least >= 0 && LEVELS.indexOf(level) >= least;
}

/** The most verbose level that any call of a session asked for. */
export class LogLevel {
  #level = LEVELS.length;

  /** Returns whether the backend must be told. */
  lower(level: string): boolean {
    const wanted = LEVELS.indexOf(level);
    if (wanted < 0 || wanted >= this.#level) return false;
    this.#level = wanted;
    return true;
  }
}
