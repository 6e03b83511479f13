import type { ProblemCode } from '../problem.ts';

/**
 * Who proves that an operation answers a problem in one place. `each`: the table of that place, which brings it about for each operation
 * that lists it (`operator/management/operations/*-statuses.test.ts`, `e2e/cluster/management-statuses.test.ts`). A test by file and
 * title: it is the same for all operations, or too dear to be done for each. Absent: no test brings it about there.
 */
export interface Reach {
  machine?: Proof;
  cluster?: Proof;
}
export type Proof = 'each' | `${string}.ts: ${string}`;
type Place = keyof Reach;

const BOTH = { machine: 'each', cluster: 'each' } as const;
const ON_A_MACHINE = { machine: 'each' } as const;
const IN_A_CLUSTER = { cluster: 'each' } as const;

const ATTACKS = 'e2e/management/attacks.test.ts';
const RECORDS = 'operator/management/stores/contract/record-store.contract.ts';

/** What says nothing else about an operation. */
const REACH: Record<ProblemCode, Reach> = {
  bad_request: BOTH,
  inline_secret: BOTH,
  path_not_available: IN_A_CLUSTER,
  unsupported_provider: BOTH,
  namespace_missing: IN_A_CLUSTER,
  unauthenticated: BOTH,
  forbidden: IN_A_CLUSTER,
  private_address_refused: IN_A_CLUSTER,
  image_refused: { machine: 'e2e/provenance/entries.test.ts: of %s is refused, and nothing is made' },
  foreign_host: BOTH,
  not_found: BOTH,
  method_not_allowed: {
    machine: 'operator/management/routes.test.ts: with another method is told which ones there are',
  },
  // A cluster has the provider kubernetes alone, which has no password and can be written.
  provider_read_only: ON_A_MACHINE,
  secrets_locked: ON_A_MACHINE,
  already_exists: BOTH,
  conflict: {
    machine: 'each',
    cluster: 'e2e/cluster/management-workloads.test.ts: keep what another manager owns, unless it is taken by force',
  },
  in_use: BOTH,
  busy: ON_A_MACHINE,
  // Before it is known which operation is meant.
  too_slow: {
    machine: `${ATTACKS}: with its headers or its body is not waited for without an end, and holds up nobody`,
  },
  headers_too_large: { machine: `${ATTACKS}: is refused in the form of every other problem` },
  stale: BOTH,
  too_large: BOTH,
  unsupported_media_type: BOTH,
  too_many_requests: ON_A_MACHINE,
  // A fault of the program: rooms that fail bring it about.
  internal: ON_A_MACHINE,
  // On a real cluster too: e2e/cluster/management-records.test.ts runs it there.
  store_damaged: {
    machine: 'each',
    cluster: `${RECORDS}: that somebody damaged are told by name and left as they are`,
  },
  source_failed: ON_A_MACHINE,
  upstream_failed: BOTH,
  unavailable: BOTH,
  upstream_timeout: ON_A_MACHINE,
};

/** Where an operation is another case than the others. */
const OF_OPERATION: Record<string, Partial<Record<ProblemCode, Reach>>> = {
  // What they answer stands ready on a machine; in a cluster the API server has to say who asks.
  getVersion: { unavailable: IN_A_CLUSTER },
  getOpenApi: { unavailable: IN_A_CLUSTER },
  // A cluster has a provider, and no files of clients.
  listSecrets: { not_found: ON_A_MACHINE, conflict: IN_A_CLUSTER },
  createSecret: { not_found: ON_A_MACHINE, conflict: IN_A_CLUSTER },
  updateSecret: { conflict: IN_A_CLUSTER },
  deleteSecret: { conflict: IN_A_CLUSTER },
  registerClient: { conflict: ON_A_MACHINE, stale: ON_A_MACHINE },
  registerClients: { conflict: ON_A_MACHINE, stale: ON_A_MACHINE },
  deleteClient: { conflict: ON_A_MACHINE, stale: ON_A_MACHINE },
  installSkill: { conflict: ON_A_MACHINE },
  uninstallSkill: { conflict: ON_A_MACHINE },
};

/** Where a problem of an operation is met, and who proves it. */
export function reachOf(operationId: string, code: ProblemCode): Reach {
  return OF_OPERATION[operationId]?.[code] ?? REACH[code];
}

/** Whether the table of a place has to bring a problem of an operation about. */
export const isOfTable = (place: Place, operationId: string, code: ProblemCode): boolean =>
  reachOf(operationId, code)[place] === 'each';
