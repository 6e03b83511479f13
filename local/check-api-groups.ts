import { DEFAULT_API_GROUP } from '#crds/kinds/index';
import { nearest } from '#crds/parts/nearest';
import type { Problem, Resource } from './resource.ts';

const groupOf = (apiVersion: string) => apiVersion.split('/')[0] ?? '';

/** Compares with the default group and with groups that more resources use, to find typos. */
export function checkApiGroups(resources: readonly Resource[]): Problem[] {
  const own = resources.flatMap((resource) => ('apiVersion' in resource ? [resource] : []));
  const counts = new Map<string, number>();
  for (const { apiVersion } of own) counts.set(groupOf(apiVersion), (counts.get(groupOf(apiVersion)) ?? 0) + 1);
  return own.flatMap(({ apiVersion, file, line, lineOf }) => {
    const group = groupOf(apiVersion);
    const others = [...counts].filter(
      ([other, count]) => other === DEFAULT_API_GROUP || count > (counts.get(group) ?? 0),
    );
    const meant =
      group === DEFAULT_API_GROUP
        ? undefined
        : nearest(
            group,
            others.map(([other]) => other),
          );
    if (meant === undefined) return [];
    const message = `the API group \`${group}\` differs by a few letters from that of other resources; write \`${meant}/v1alpha1\``;
    return [{ file, line: lineOf(['apiVersion']) ?? line, path: 'apiVersion', message }];
  });
}
