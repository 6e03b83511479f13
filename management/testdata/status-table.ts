import type { ProblemCode } from '../problem.ts';

/**
 * Evidence that an operation answers a problem in each of the two places. `each`: the table of that place tests it for each operation that
 * lists it (`management/operations/*-statuses.test.ts`, `e2e/cluster/management-statuses.test.ts`). File and title: one test covers all
 * operations, because they behave alike or the test is expensive. `never`: why the problem cannot occur there.
 */
export interface Reach {
  machine: Proof;
  cluster: Proof;
}
export type Proof = 'each' | `${string}.ts: ${string}` | { never: string };
export type Platform = keyof Reach;

const onAMachine = (why: string): Reach => ({ machine: 'each', cluster: { never: why } });
const inACluster = (why: string): Reach => ({ machine: { never: why }, cluster: 'each' });
const BOTH: Reach = { machine: 'each', cluster: 'each' };

const ATTACKS = 'e2e/management/attacks.test.ts';
const RECORDS = 'management/stores/contract/record-store.contract.ts';
const IN_CLUSTER = 'e2e/cluster/management-statuses.test.ts';
const WORKLOADS = 'e2e/cluster/management-workloads.test.ts';
const SKILLS = 'management/skills/contract/cluster-skills.contract.ts';
const SKILLS_HELD_UP =
  'e2e/cluster/management-skills.test.ts: return busy while another request works on skills for too long';

const ONE_CALLER = 'whoever has the token of a machine may do all that its user may';
const NO_FILES = 'in a cluster a client has no file that somebody else could have written';
const ONE_OBJECT = 'in a cluster it is one object, which the API server makes or deletes at once';

const OWN_ADDRESS = 'in a cluster each endpoint has an address of its own, so ports do not collide';

/** Evidence for all operations without an entry of their own. */
const REACH: Record<ProblemCode, Reach> = {
  bad_request: BOTH,
  inline_secret: BOTH,
  path_not_available: inACluster('the paths of a machine are those of its user'),
  unsupported_provider: BOTH,
  namespace_missing: inACluster('a folder of a machine is one namespace'),
  unauthenticated: BOTH,
  forbidden: inACluster(ONE_CALLER),
  private_address_refused: inACluster('who calls is on the machine, and reaches what is private by itself'),
  image_refused: {
    machine: 'e2e/provenance/entries.test.ts: fails with a signature of %s, and vmcp creates nothing',
    cluster: `${WORKLOADS}: refuse an image with another signer, and create nothing`,
  },
  foreign_host: BOTH,
  not_found: BOTH,
  method_not_allowed: {
    machine: 'management/routes.test.ts: lists the allowed methods in a 405 answer',
    cluster: `${IN_CLUSTER}: answers 405 to another method, with the allowed methods`,
  },
  provider_read_only: onAMachine('a cluster has the provider kubernetes alone, which can be written'),
  secrets_locked: onAMachine('a cluster has the provider kubernetes alone, which has no password'),
  already_exists: BOTH,
  conflict: {
    machine: 'each',
    cluster: `${WORKLOADS}: keep fields of another manager unless the change is forced`,
  },
  in_use: BOTH,
  // Covers each kind of object for which a caller can lose against other writers.
  busy: {
    machine: 'each',
    cluster: `${WORKLOADS}: return busy while other writers change the object all the time: %s`,
  },
  // Occurs before the operation is known.
  too_slow: {
    machine: `${ATTACKS}: with its headers or its body gets 408 in bounded time, and delays no other caller`,
    cluster: `${IN_CLUSTER}: answers 408 to a client that sends its header slowly`,
  },
  headers_too_large: { machine: `${ATTACKS}: gets the same problem form as other refusals`, cluster: 'each' },
  stale: BOTH,
  too_large: BOTH,
  unsupported_media_type: BOTH,
  too_many_requests: {
    machine: 'each',
    cluster:
      'e2e/cluster/management-logs.test.ts: limits the logs of a caller, blocks no other request, and leaves no connection to the API server',
  },
  internal: onAMachine('a fault of the program: services that fail cause it, and an operator has no other services'),
  // Also on a real cluster: e2e/cluster/management-records.test.ts runs it there.
  store_damaged: {
    machine: 'each',
    cluster: `${RECORDS}: names a damaged record and leaves it as it is`,
  },
  source_failed: BOTH,
  upstream_failed: BOTH,
  unavailable: BOTH,
  upstream_timeout: BOTH,
};

/** Operations whose evidence differs from the default. */
const OF_OPERATION: Record<string, Partial<Record<ProblemCode, Reach>>> = {
  getVersion: { unavailable: inACluster('what it answers stands ready; a cluster has to say who asks') },
  getOpenApi: { unavailable: inACluster('what it answers stands ready; a cluster has to say who asks') },
  listSecrets: {
    not_found: onAMachine('a cluster has a provider from the beginning'),
    conflict: inACluster('the file of the secrets of a machine is its own'),
  },
  createSecret: {
    not_found: onAMachine('a cluster has a provider from the beginning'),
    conflict: inACluster('the file of the secrets of a machine is its own'),
  },
  updateSecret: { conflict: inACluster('the file of the secrets of a machine is its own') },
  deleteSecret: { conflict: inACluster('the file of the secrets of a machine is its own') },
  registerClient: { conflict: onAMachine(NO_FILES), stale: onAMachine(ONE_OBJECT) },
  registerClients: { conflict: onAMachine(NO_FILES), stale: onAMachine(ONE_OBJECT) },
  deleteClient: { conflict: onAMachine(NO_FILES), stale: onAMachine(ONE_OBJECT) },
  installSkill: {
    conflict: onAMachine('in a cluster a skill has no files that somebody else could have written'),
    busy: { machine: 'each', cluster: SKILLS_HELD_UP },
  },
  validateSkill: {
    busy: {
      machine: { never: 'on one machine each skill is looked at in a folder of its own' },
      cluster: SKILLS_HELD_UP,
    },
  },
  uninstallSkill: {
    conflict: {
      machine: 'each',
      cluster: `${SKILLS}: installs the dependencies of a skill, and keeps them as long as the skill`,
    },
    busy: onAMachine(ONE_OBJECT),
  },
  createWorkload: { busy: onAMachine(ONE_OBJECT), in_use: onAMachine(OWN_ADDRESS) },
  editWorkload: { in_use: onAMachine(OWN_ADDRESS) },
  createGroup: { busy: onAMachine(ONE_OBJECT) },
};

/** Returns the evidence for a problem of an operation. */
export function reachOf(operationId: string, code: ProblemCode): Reach {
  return OF_OPERATION[operationId]?.[code] ?? REACH[code];
}

/** Reports whether the table of a place must test a problem of an operation. */
export const isOfTable = (place: Platform, operationId: string, code: ProblemCode): boolean =>
  reachOf(operationId, code)[place] === 'each';
