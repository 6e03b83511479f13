import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { Place } from './chosen-places.ts';
import type { Neighbour } from './stored.ts';
import { placeText } from './written-places.ts';

/** Servers with the same prefix cannot be told apart; `--force` confirms that they use different Redis servers. @throws CliError */
export function checkNeighbours(
  { config }: Place,
  neighbours: readonly Neighbour[],
  { force }: { force: boolean },
): string[] {
  const { key_prefix: prefix } = config;
  const longer: string[] = [];
  for (const { shown, places } of neighbours) {
    for (const other of places) {
      const { key_prefix: its } = other.config;
      if (its !== prefix) {
        if (its.startsWith(prefix)) longer.push(its);
      } else if (placeText(other.config) === placeText(config)) {
        const remedy = 'nobody can tell which are whose; delete both servers, and then this';
        throw new CliError(EXIT_CODES.conflict, `${shown} has its keys under the same prefix ${prefix}: ${remedy}`);
      } else if (!force) {
        const remedy = 'if that is another Redis, say --force';
        throw new CliError(EXIT_CODES.conflict, `${shown} has keys under the same prefix ${prefix}: ${remedy}`);
      }
    }
  }
  return longer;
}
