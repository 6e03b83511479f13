import type { Caller, Permission } from '../operation.ts';
import { Problem } from '../problem.ts';
import type { OperationAccepted, WorkloadSelection } from '../records/workload-operation.ts';
import type { Services } from '../services.ts';
import type { StoredResource } from '../stores/resources.ts';
import { referencePermissions } from '../workloads/find-references.ts';
import { checkIsolation } from '../workloads/without-effect.ts';
import type { Edited } from '../workloads/detail.ts';
import type { Check } from '../workloads/workloads.ts';

export const WRITING = {
  conflict: 'another manager owns what would change, or its manifest cannot be edited without loss',
  busy: 'it is being changed all the time',
} as const;
export const PORT = { in_use: 'another resource of this machine has the port of proxy_port' } as const;
export const RECORD = { inline_secret: 'a secret stands in the record itself, in place of its reference' } as const;

export const workload = (verb: Permission['verb'], name: string): Permission => ({
  verb,
  resource: 'mcpservers',
  name,
});

/** @throws Problem `forbidden` if the caller may not use a referenced object */
async function checkReferences(specs: readonly StoredResource['spec'][], caller: Caller): Promise<void> {
  const permissions = specs.flatMap(referencePermissions);
  const each = new Map(permissions.map((permission) => [`${permission.resource}/${permission.name}`, permission]));
  for (const permission of each.values()) await caller.check(permission);
}

/** Checks the references of stopped workloads only: running workloads use them already. @throws Problem `forbidden` */
export async function checkStart(resources: readonly StoredResource[], caller: Caller): Promise<void> {
  const specs = resources.map(({ spec }) => spec);
  await checkReferences(
    specs.filter(({ suspend }) => suspend === true),
    caller,
  );
}

const runsSomething = ({ image, command, remoteUrl }: StoredResource['spec']): boolean =>
  [image, command, remoteUrl].some((one) => one !== undefined);

interface WantedChange {
  group?: string | null | undefined;
  /** Accepts network isolation that is not enforced, and a port that another resource has. */
  force: boolean;
}

interface CheckedChange {
  check: Check;
  warningsWith(told: { warnings?: string[] }): { warnings?: string[] };
}

/** Returns a warning if the endpoint has to wait for its port. @throws Problem `in_use` if another resource has the port */
async function checkPort(
  { spec }: Edited,
  before: StoredResource,
  force: boolean,
  { workloads }: Services,
): Promise<string | undefined> {
  if (spec.proxyPort === undefined || spec.suspend === true || spec.proxyPort === before.spec.proxyPort)
    return undefined;
  const problem = await workloads.portProblem(before.name, spec);
  if (problem?.isClaimed && !force)
    throw new Problem('in_use', `body ${problem.text}, or send force=true to let it wait for this one`);
  return problem && `accepted, but it waits: ${problem.text}`;
}

/** Checks references, remaining content, isolation, group and port. */
export function checkChange({ group, force }: WantedChange, caller: Caller, services: Services): CheckedChange {
  let warning: string | undefined;
  return {
    async check(edited, before, place) {
      await checkReferences([edited.spec], caller);
      if (runsSomething(before.spec) && !runsSomething(edited.spec))
        throw new Problem('bad_request', 'body image: nothing is left to run; write image, command or url');
      if (!force) checkIsolation(edited, before, place);
      if (group !== undefined && group !== null && group !== '')
        await services.workloads.checkGroup(group, 'bad_request');
      warning = await checkPort(edited, before, force, services);
    },
    warningsWith: (told) => (warning === undefined ? told : { warnings: [...(told.warnings ?? []), warning] }),
  };
}

/** Leaves stopped workloads of a restarted group stopped. */
export async function beginWork(
  type: 'delete' | 'restart',
  { names, group }: WorkloadSelection,
  caller: Caller,
  { workloads, operations }: Services,
): Promise<OperationAccepted> {
  if (group !== undefined) await workloads.checkGroup(group, 'bad_request');
  const wanted = new Set(names);
  const isMeant = ({ name, spec }: StoredResource): boolean =>
    group === undefined ? wanted.has(name) : spec.groupRef === group && (type === 'delete' || spec.suspend !== true);
  const meant = (await workloads.all()).filter(isMeant);
  const accepted = meant.map(({ name }) => name);
  const verb = type === 'delete' ? 'delete' : 'update';
  await checkEach(caller, verb, [...new Set([...wanted, ...accepted])]);
  if (type === 'restart') await checkStart(meant, caller);
  const operation_id = await operations.begin(type, meant);
  return { operation_id, accepted, unknown: [...wanted].filter((name) => !accepted.includes(name)) };
}

/** Checks the permission for all workloads, and only without it for each name. @throws Problem `forbidden` */
async function checkEach(caller: Caller, verb: 'delete' | 'update', names: readonly string[]): Promise<void> {
  try {
    await caller.check({ verb, resource: 'mcpservers' });
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.code !== 'forbidden' || names.length === 0) throw problem;
    for (const name of names) await caller.check(workload(verb, name));
  }
}
