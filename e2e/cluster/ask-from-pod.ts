import type { Rpc } from '../gateway/session-client.ts';
import type { Stage } from './stage.ts';

/** A method, and its parameters. */
export type Ask = readonly [method: string, params: object];

/** What a pod is told to do: open one session, and ask in it one after the other. */
interface Asked {
  /** As the pod writes it, e.g. `http://vmcp-demo:4483/mcp`. */
  readonly url: string;
  /** A token, or the file of the pod that has it. */
  readonly bearer: { readonly token: string } | { readonly file: string };
  readonly asks: readonly Ask[];
}

const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { SessionClient } from '/app/e2e/gateway/session-client.ts';
  let asked = '';
  for await (const part of process.stdin.setEncoding('utf8')) asked += part;
  const { url, bearer, asks } = JSON.parse(asked);
  const token = bearer.token ?? readFileSync(bearer.file, 'utf8');
  const client = await SessionClient.open(url, { authorization: 'Bearer ' + token });
  const answers = [];
  for (const [method, params] of asks) answers.push((await client.request(method, params)).answer);
  process.stdout.write(JSON.stringify(answers));
`;

/**
 * Asks an endpoint from within the cluster: a running pod of the image of the backends is the client.
 *
 * @param target e.g. `deployment/mcp-whoami`
 * @throws where no session is opened: `initialize: <status> …`
 */
export async function askFromPod(
  { cluster, namespace }: Pick<Stage, 'cluster' | 'namespace'>,
  target: string,
  asked: Asked,
): Promise<Rpc[]> {
  const program = ['node', '--input-type=module', '-e', PROGRAM];
  const args = ['-n', namespace.name, 'exec', '-i', target, '--', ...program];
  const { code, stdout, stderr } = await cluster.kubectl(args, JSON.stringify(asked));
  if (code !== 0) throw new Error(`${target}: ${stderr}`);
  return JSON.parse(stdout) as Rpc[];
}
