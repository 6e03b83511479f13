import { renderObjects } from '#operator/kubernetes/gitops/render-objects';
import type { Outcome } from '#operator/plan/outcome';
import { type ClusterOptions, factsOf, readClusterFolder } from './cluster-folder.ts';
import type { Context } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { printObject } from './print-object.ts';

export function troublesOf({ key, status }: Outcome): string[] {
  const place = `${key.kind} ${key.namespace}/${key.name}`;
  const stopped = (status?.conditions ?? []).filter(
    (condition) => ['Stalled', 'Waiting'].includes(condition.type) && condition.status === 'True',
  );
  const leftOut = (status?.backends ?? []).filter(({ phase }) => phase === 'Excluded');
  return [
    ...stopped.map(({ reason, message }) => `${place}: ${reason}: ${message}`),
    ...leftOut.map(({ name, message }) => `${place}: without ${name}: ${message}`),
  ];
}

export function renderCluster(
  folder: string,
  format: 'json' | 'yaml',
  options: ClusterOptions,
  context: Context,
): number {
  const written = readClusterFolder(folder, options.namespace, context);
  const { objects, outcomes } = renderObjects(written, written.apiGroup, factsOf(options));
  const troubles = outcomes.flatMap(troublesOf);
  for (const trouble of troubles) context.err.write(`${trouble}\n`);
  if (format === 'json') context.out.write(printObject(objects, 'json'));
  else context.out.write(objects.map((object) => printObject(object, 'yaml')).join('---\n'));
  return written.wrong || troubles.length > 0 ? EXIT_CODES.input : EXIT_CODES.ok;
}
