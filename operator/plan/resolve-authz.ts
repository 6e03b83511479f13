import { type AuthzConfig, InlineAuthz } from '#crds/parts/authz-config';
import { validatePolicySet } from '#crds/policy/validate';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { World } from '../world.ts';
import { defined } from './defined.ts';
import { readBlock, readConfigMapBlock } from './read-config-map-block.ts';

type AuthzDocument = NonNullable<RunConfigDocument['authz']>;

function problemsOf({ policies, entitiesJson }: InlineAuthz, world: World): readonly string[] {
  if (world.policies) return world.policies.problemsOf({ policies, entitiesJson });
  const valid = validatePolicySet({ policies, entitiesJson });
  return valid.ok ? [] : valid.problems;
}

const readAuthz = (text: string) => readBlock(InlineAuthz, text);

/**
 * The policies of one boundary, read and validated. `field` is where the block stands.
 * Throws `Waiting` for a missing ConfigMap and `Stalled` for policies that cannot be served.
 */
export function resolveAuthz(
  config: AuthzConfig,
  field: string,
  groupsClaim: string | undefined,
  world: World,
): AuthzDocument {
  const inline = config.configMap
    ? readConfigMapBlock(readAuthz, config.configMap, `${field}.configMap`, 'InvalidPolicy', world)
    : InlineAuthz.parse(config.inline ?? {});
  const problems = problemsOf(inline, world);
  if (problems.length > 0) throw new Stalled('InvalidPolicy', `${field}: ${problems.join('; ')}`);
  return defined({
    mode: config.mode,
    policies: inline.policies,
    entities_json: inline.entitiesJson,
    groups_claim: groupsClaim,
  });
}
