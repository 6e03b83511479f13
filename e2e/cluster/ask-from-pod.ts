import type { Rpc } from '../gateway/session-client.ts';
import type { Stage } from './stage.ts';

/** A method and its parameters. */
export type Ask = readonly [method: string, params: object];

/** Instructions for the pod: it opens one session and sends the requests one after the other. */
interface Asked {
  /** As the pod writes it, e.g. `http://vmcp-demo:4483/mcp`. */
  readonly url: string;
  /** A token, or the path of its file in the pod. */
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
 * Sends requests to an endpoint from within the cluster; the client is a running pod of the backends' image. @param
 * target e.g. `deployment/mcp-whoami` @throws if no session is opened: `initialize: <status> …`
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
