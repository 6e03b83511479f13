import { readValue } from '#crds/parts/read-value';
import { RunConfig, type RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';

/** A document that the runtime would refuse is never handed to it. Throws `Stalled`. */
export function checkDocument(document: RunConfigDocument): void {
  const read = readValue(RunConfig, document);
  if ('data' in read) return;
  throw new Stalled('InvalidRunConfiguration', `the run configuration would be refused: ${read.problems.join('; ')}`);
}
