import { type ChildProcess, spawn } from 'node:child_process';

/** The shell's input ends with the gateway. Servers with timers or connections may outlive their own input. */
const SCRIPT = 'read -r _; sleep 1; kill -s TERM -- "-$1" || exit; sleep 1; kill -s KILL -- "-$1"';

/** Ends the group if the gateway is killed. @returns a function that stops the shell; call it when the group has ended */
export function endWithGateway(group: number): () => void {
  const shell: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'sh', String(group)], {
    // A signal to the gateway's group must not reach it.
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // An image without a shell runs as a container, which ends all its processes.
  shell.on('error', () => undefined);
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  return () => void shell.kill('SIGKILL');
}
