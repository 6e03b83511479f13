import { join } from 'node:path';
import { proxyOf } from '#lib/connections/proxy';
import { type Home, homeOf } from '#management/clients/files/clients';
import { localClients } from '../clients/local-clients.ts';
import type { LocalPlace } from '../local/local-place.ts';
import { LocalSkills } from './local-skills.ts';
import { FETCH_DEADLINE } from './skill-source.ts';
import type { Skills } from './skills.ts';

export function openLocalSkills(place: LocalPlace): (namespace: string) => Skills {
  const { environment } = place;
  const home = homeOf(environment);
  const skills = new LocalSkills({
    folder: join(stateOf(home), 'vmcp', 'skills'),
    home,
    rules: {
      localPaths: true,
      privateAddresses: true,
      proxy: proxyOf(environment),
      searchPath: environment.PATH ?? '',
      deadline: FETCH_DEADLINE,
    },
    now: Date.now,
  });
  return (namespace) => skills.for(localClients(place, namespace));
}

/** Follows the XDG Base Directory Specification; other systems use the same path, because they define none. */
function stateOf({ path, environment }: Home): string {
  return environment.XDG_STATE_HOME ?? join(path, '.local', 'state');
}
