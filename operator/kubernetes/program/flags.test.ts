import { describe, expect, it } from '@jest/globals';
import { POD_ANNOTATIONS } from '#operator/plan/allowed-annotation';
import { type Flags, readFlags } from './flags.ts';

const IMAGE = '--runtime-image=vmcp-runtime:1';

function read(...args: string[]): { flags?: Flags; said: string } {
  let said = '';
  const print = (text: string) => {
    said += text;
  };
  try {
    return { flags: readFlags(args, '1.2.3', { out: print, err: print }), said };
  } catch {
    return { said };
  }
}

describe('readFlags', () => {
  it('requires only the image of the runtimes', () => {
    expect(read(IMAGE).flags).toEqual({
      apiGroup: 'vmcp.dev',
      watchNamespace: [],
      name: 'vmcp-operator',
      runtimeImage: 'vmcp-runtime:1',
      imagePullSecret: [],
      stdioAttach: false,
      allowHostPaths: false,
      podAnnotation: POD_ANNOTATIONS,
      sidecarsOf: [],
      runtimeEnv: [],
      maxConcurrentRollouts: 10,
      scraperNamespace: [],
      workers: 4,
      resync: 600_000,
      leaderElection: true,
      bindAddress: '::',
      healthPort: 8081,
      metricsPort: 8080,
      logLevel: 'info',
      logFormat: 'json',
    });
    expect(read().said).toContain("required option '--runtime-image <image>' not specified");
  });

  it('accepts lists separated by commas or by repetition, and keeps each name once', () => {
    const { flags } = read(IMAGE, '--watch-namespace=a,b', '--watch-namespace', 'c, a', '--image-pull-secret=one');
    expect(flags).toMatchObject({ watchNamespace: ['a', 'b', 'c'], imagePullSecret: ['one'] });
  });

  it('accepts replacing annotations, servers with sidecars, and environment variables of runtimes', () => {
    const { flags } = read(
      IMAGE,
      '--pod-annotation=a.example/*,note',
      '--pod-annotation=b.example/c',
      '--sidecars-of=team/demo,other/demo',
      '--runtime-env=HTTPS_PROXY=http://proxy:3128/?a=b',
      '--runtime-env=NO_PROXY=',
      '--runtime-env=NO_PROXY=10.0.0.0/8,.svc',
    );
    expect(flags).toMatchObject({
      podAnnotation: ['a.example/*', 'note', 'b.example/c'],
      sidecarsOf: ['team/demo', 'other/demo'],
      runtimeEnv: [
        { name: 'HTTPS_PROXY', value: 'http://proxy:3128/?a=b' },
        { name: 'NO_PROXY', value: '10.0.0.0/8,.svc' },
      ],
    });
  });

  it('accepts durations with units', () => {
    expect(read(IMAGE, '--resync=1m30s').flags).toMatchObject({ resync: 90_000 });
  });

  it('allows one operator without a Lease, and the last occurrence of a flag wins', () => {
    expect(read(IMAGE, '--no-leader-election').flags).toMatchObject({ leaderElection: false });
    expect(read(IMAGE, '--no-leader-election', '--leader-election').flags).toMatchObject({ leaderElection: true });
  });

  it.each([
    ['--api-group=VMCP', 'Write the API group of the installed definitions, such as vmcp.dev.'],
    ['--watch-namespace=a,B', 'Write a name of Kubernetes'],
    ['--watch-namespace=', 'Write a name of Kubernetes'],
    ['--pod-annotation=*', 'Write the name of an annotation'],
    ['--sidecars-of=demo', 'Write namespace/name of a VirtualMCPServer.'],
    ['--runtime-env=HTTPS_PROXY', 'Write NAME=value.'],
    ['--workers=0', 'Write a whole number from 1 to 64.'],
    ['--workers=two', 'Write a whole number from 1 to 64.'],
    ['--resync=10', 'Write a duration of a second or more, such as 10m.'],
    ['--resync=5ms', 'Write a duration of a second or more, such as 10m.'],
    ['--max-concurrent-rollouts=-1', 'Write a whole number from 1 to 1000.'],
    ['--health-port=70000', 'Write a whole number from 0 to 65535.'],
    ['--log-level=loud', 'Allowed choices are error, warn, info, debug.'],
    ['--log-format=xml', 'Allowed choices are json, text.'],
  ])('rejects %s by its flag, with the remedy', (argument, remedy) => {
    const { flags, said } = read(IMAGE, argument);
    expect(flags).toBeUndefined();
    expect(said).toContain(argument.split('=')[0]);
    expect(said).toContain(remedy);
  });

  it('rejects an unknown flag and suggests a similar one', () => {
    expect(read(IMAGE, '--watch-namespaces=a').said).toContain('Did you mean --watch-namespace?');
    expect(read(IMAGE, '--management-port=4485').said).toContain('unknown option');
    expect(read(IMAGE, 'extra').said).toContain('too many arguments');
  });
});
