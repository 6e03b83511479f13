import type { PermissionProfileDocument } from '#crds/parts/permission-profile';
import { NETWORK_MODES } from '#operator/plan/read-permission-profile';
import { sameValue } from '../same-value.ts';
import { Problem } from '../problem.ts';
import type { FieldOptions, Change, Fields } from './field.ts';
import type { Spec } from './spec.ts';

const BUILT_IN: Record<string, PermissionProfileDocument> = {
  none: { name: 'none', network: { outbound: { insecure_allow_all: false } } },
  network: { name: 'network', network: { outbound: { insecure_allow_all: true } } },
};

export function profileOf({ permissionProfile }: Spec, { profile }: Pick<FieldOptions, 'profile'>) {
  if (permissionProfile?.type === 'configmap') return profile;
  return permissionProfile && BUILT_IN[permissionProfile.name];
}

export function isIsolated(profile: PermissionProfileDocument | undefined): boolean {
  return profile !== undefined && profile.network?.outbound?.insecure_allow_all !== true;
}

/** Profile that `network_isolation` alone writes. */
const NONE = { type: 'builtin', name: 'none' };

const builtIn = (name: string): Change => ({ spec: { permissionProfile: { type: 'builtin', name } } });

export const PROFILE_KEY = 'profile.json';

/** Keeps a ConfigMap made by others unchanged. */
function writeProfile(value: PermissionProfileDocument, workload: string): Change {
  if ((value.network?.inbound?.allow_host ?? []).length > 0)
    throw new Problem(
      'bad_request',
      'body permission_profile.network.inbound.allow_host: only vmcp reaches the program, so it cannot be enforced; leave it out',
    );
  const mode = value.network?.mode;
  if (mode !== undefined && !NETWORK_MODES.includes(mode))
    throw new Problem(
      'bad_request',
      `body permission_profile.network.mode: ${JSON.stringify(mode)} is not served; send none, or leave it out`,
    );
  const name = Object.keys(BUILT_IN).find((one) => sameValue(value, BUILT_IN[one]) || sameValue(value, { name: one }));
  if (name !== undefined) return builtIn(name);
  const permissionProfile = { type: 'configmap', name: `${workload}-permissions`, key: PROFILE_KEY };
  return { spec: { permissionProfile }, profile: value };
}

export const PERMISSION_FIELDS: Fields<'permission_profile' | 'network_isolation'> = {
  permission_profile: {
    read: profileOf,
    write: (value, _, { name }) =>
      value === undefined ? { spec: { permissionProfile: undefined } } : writeProfile(value, name),
  },
  network_isolation: {
    read: (spec, options) => isIsolated(profileOf(spec, options)),
    write: (value, { permissionProfile }) => {
      if (permissionProfile === undefined) return value === true ? builtIn('none') : {};
      if (value === undefined)
        return sameValue(permissionProfile, NONE) ? { spec: { permissionProfile: undefined } } : {};
      if (sameValue(permissionProfile, { type: 'builtin', name: value ? 'network' : 'none' }))
        return builtIn(value ? 'none' : 'network');
      throw new Problem(
        'bad_request',
        'body network_isolation: its permission profile says otherwise; change network.outbound of permission_profile',
      );
    },
  },
};
