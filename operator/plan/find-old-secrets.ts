import type { ObservedRuntime } from '../snapshot.ts';
import type { Finding } from './finding.ts';

/** Reports data that needs older `hmacSecretRefs`, so that the administrator sees whether a rotation is complete. */
export function findOldSecrets(observed: ObservedRuntime | undefined): Finding[] {
  const { secrets, secrets_in_use: used } = observed?.auth_server ?? {};
  if (!secrets || !used || secrets.kids.length < 2) return [];
  const old = secrets.kids
    .map((kid, index) => ({ place: `hmacSecretRefs[${index}]`, rows: used[kid] ?? 0, kid }))
    .slice(1);
  const needed = old.filter(({ kid, rows }) => rows > 0 || kid === secrets.making);
  const free = old.filter((one) => !needed.includes(one)).map(({ place }) => place);
  const parts = [
    ...needed.map(({ place, rows }) => `${place} is needed by ${rows} logins and links: leave it`),
    ...(free.length > 0 ? [`no login or link needs ${free.join(', ')}: it may be removed`] : []),
  ];
  const reason = needed.length > 0 ? 'StillNeeded' : 'NotNeeded';
  return [{ type: 'OldSecrets', status: 'True', reason, message: `${parts.join('; ')}.` }];
}
