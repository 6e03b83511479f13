import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { isLeader, untilReady } from './operator-metrics.ts';
import { startOperator } from './start-operator.ts';
import type { Cluster } from './use-cluster.ts';

const LEASE = 'operator';
/** The Lease of a killed holder is free after 4 s. */
const ELECTED_WITHIN = 60_000;

/** Operators on this machine for one namespace. They elect a leader like the pods of the chart. */
export class ElectedOperators {
  readonly #cluster: Cluster;
  readonly #namespace: () => string;
  readonly #running: Program[] = [];

  /** The namespace may be made later. */
  constructor(cluster: Cluster, namespace: () => string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  /** Starts one more. Resolves when it has read all resources, whether or not it is the leader. */
  async start(): Promise<Program> {
    const operator = await this.#launch();
    await untilReady(operator);
    return operator;
  }

  /** Starts two, one right after the other. Resolves when one of them leads. */
  async startTwo(): Promise<[leader: Program, other: Program]> {
    const [one, two] = [await this.#launch(), await this.#launch()];
    await Promise.all([untilReady(one), untilReady(two)]);
    return (await this.leader()) === one ? [one, two] : [two, one];
  }

  /** Returns the leader, as soon as there is one. */
  async leader(): Promise<Program> {
    const leader = await eventually(
      () => this.#leads(),
      (found) => found !== undefined,
      ELECTED_WITHIN,
    );
    if (!leader) throw new Error('nobody leads');
    return leader;
  }

  /** Writes another holder into the Lease that never renews it. */
  async usurpLease(): Promise<void> {
    const taken = { spec: { holderIdentity: 'another-one', leaseDurationSeconds: 1 } };
    const how = { 'content-type': 'application/merge-patch+json' };
    const { status } = await this.#cluster.ask('PATCH', this.#leasePath(), taken, how);
    if (status !== 200) throw new Error(`the Lease could not be written: ${status}`);
  }

  /** Returns the number of times that the Lease changed its holder. */
  async leaseTransitions(): Promise<number> {
    const { body } = await this.#cluster.ask('GET', this.#leasePath());
    return Number(body.spec.leaseTransitions);
  }

  /** Kills all of them at the same moment. Resolves when they have ended. */
  async kill(): Promise<void> {
    const running = this.#running.filter((operator) => !operator.exited());
    for (const { pid } of running) process.kill(pid, 'SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((operator) => operator.stop()));
  }

  async #launch(): Promise<Program> {
    const election = [`--leader-election-namespace=${this.#namespace()}`, `--leader-election-id=${LEASE}`];
    const flags = ['--leader-election', ...election];
    const operator = await startOperator(this.#cluster, [this.#namespace()], flags);
    this.#running.push(operator);
    return operator;
  }

  #leasePath(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#namespace()}/leases/${LEASE}`;
  }

  async #leads(): Promise<Program | undefined> {
    for (const operator of this.#running) {
      // An operator that has just exited is not asked.
      if (!operator.exited() && (await isLeader(operator).catch(() => false))) return operator;
    }
    return undefined;
  }
}
