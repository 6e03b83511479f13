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

describe('the command line of the operator', () => {
  it('needs the image of the runtimes only', () => {
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

  it('takes lists by commas and by repetition, each name once', () => {
    const { flags } = read(IMAGE, '--watch-namespace=a,b', '--watch-namespace', 'c, a', '--image-pull-secret=one');
    expect(flags).toMatchObject({ watchNamespace: ['a', 'b', 'c'], imagePullSecret: ['one'] });
  });

  it('takes annotations in place of the usual ones, servers with sidecars, and variables of runtimes', () => {
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

  it('takes durations as people write them', () => {
    expect(read(IMAGE, '--resync=1m30s').flags).toMatchObject({ resync: 90_000 });
  });

  it('lets one operator act without a Lease, and the last word count', () => {
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
  ])('refuses %s by name, and says what to write', (argument, remedy) => {
    const { flags, said } = read(IMAGE, argument);
    expect(flags).toBeUndefined();
    expect(said).toContain(argument.split('=')[0]);
    expect(said).toContain(remedy);
  });

  it('refuses what it does not know, and names what is near', () => {
    expect(read(IMAGE, '--watch-namespaces=a').said).toContain('Did you mean --watch-namespace?');
    expect(read(IMAGE, '--management-port=4485').said).toContain('unknown option');
    expect(read(IMAGE, 'extra').said).toContain('too many arguments');
  });
});
