import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { attach } from './attach.ts';

// The runtime starts this program in place of one that runs in another container. It forwards standard input and output.
const USAGE =
  'usage: attach --namespace <name> --pod <name> --container <name> --token-file <file> [--server <host:port>]\n';
const DEADLINE = 20_000;

const { values } = parseArgs({
  options: {
    namespace: { type: 'string' },
    pod: { type: 'string' },
    container: { type: 'string' },
    'token-file': { type: 'string' },
    server: { type: 'string', default: 'kubernetes.default.svc' },
  },
});
const { namespace, pod, container, server, 'token-file': tokenFile } = values;
if (namespace === undefined || pod === undefined || container === undefined || tokenFile === undefined) {
  process.stderr.write(USAGE);
  process.exit(2);
}

const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', stderr: 'false', tty: 'false' });
const path = ['namespaces', namespace, 'pods', pod, 'attach'].map(encodeURIComponent).join('/');
const problem = await attach({
  url: `wss://${server}/api/v1/${path}?${query.toString()}`,
  // The kubelet renews the token, so each start reads it.
  token: readFileSync(tokenFile, 'utf8').trim(),
  input: process.stdin,
  output: process.stdout,
  deadline: DEADLINE,
});
if (problem !== undefined) process.stderr.write(`attach to ${pod}: ${problem}\n`);
process.exitCode = problem === undefined ? 0 : 1;
process.stdin.destroy();
