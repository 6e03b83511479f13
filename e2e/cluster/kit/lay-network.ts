import { readdirSync } from 'node:fs';
import { run, runProgram } from '../run-program.ts';
import { BRIDGE, type ClusterNode, HOST, nodesOf, POD_RANGE, SERVICE_RANGE } from './cluster-folders.ts';

const ip = async (command: string) => run('ip', command.split(' '));

async function isThere(command: string): Promise<boolean> {
  return (await runProgram('ip', command.split(' '), { deadline: 10_000 })).code === 0;
}

/**
 * Connects the nodes, each a network namespace, by one bridge without a route out of the machine. The host reaches pods
 * and Services, too. Unreachable routes keep traffic without a node off the real network.
 */
export async function layNetwork(count: number): Promise<void> {
  if (await isThere(`link show ${BRIDGE}`)) return;
  await ip(`link add ${BRIDGE} type bridge`);
  await ip(`addr add ${HOST}/24 dev ${BRIDGE}`);
  await ip(`link set ${BRIDGE} up`);
  for (const range of [SERVICE_RANGE, POD_RANGE]) await ip(`route add unreachable ${range} metric 4096`);
  const nodes = nodesOf(count);
  for (const node of nodes) await connectNode(node, nodes);
  const [first] = nodes;
  if (first) await ip(`route add ${SERVICE_RANGE} via ${first.address}`);
}

async function connectNode(node: ClusterNode, nodes: readonly ClusterNode[]): Promise<void> {
  const { label, address, pods } = node;
  await ip(`netns add ${label}`);
  await ip(`link add ${label} type veth peer name eth0 netns ${label}`);
  await ip(`link set ${label} master ${BRIDGE} up`);
  await ip(`-n ${label} link set lo up`);
  await ip(`-n ${label} link set eth0 up`);
  await ip(`-n ${label} addr add ${address}/24 dev eth0`);
  // A packet to a Service needs a route before kube-proxy can rewrite it.
  await ip(`-n ${label} route add ${SERVICE_RANGE} via ${HOST}`);
  for (const other of nodes) {
    if (other !== node) await ip(`-n ${label} route add ${other.pods} via ${other.address}`);
  }
  await ip(`route add ${pods} via ${address}`);
}

/** Returns the names of the nodes' network namespaces, including those of a crashed run. */
export function nodeNamespaces(): string[] {
  try {
    return readdirSync('/run/netns').filter((name) => /^vmcp-n\d+$/.test(name));
  } catch {
    return [];
  }
}

function nodeLinks(): string[] {
  return readdirSync('/sys/class/net').filter((name) => /^vmcp-n\d+$/.test(name));
}

/** Removes all networks of `layNetwork`; a missing one is no error. */
export async function removeNetwork(): Promise<void> {
  const away = (command: string) => runProgram('ip', command.split(' '), { deadline: 10_000 });
  // A foreign container that was started later may keep a namespace, and with it its link.
  for (const name of nodeLinks()) await away(`link del ${name}`);
  for (const name of nodeNamespaces()) await away(`netns del ${name}`);
  await away(`link del ${BRIDGE}`);
  for (const range of [SERVICE_RANGE, POD_RANGE]) await away(`route del unreachable ${range}`);
}
