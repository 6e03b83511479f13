import { describe, expect, it } from '@jest/globals';
import { liveTable, plainLines } from '#cli/show-status';
import { nextSteps, readiness, showStuck, stuckCode } from '#cli/up';
import type { LocalStatus } from '#local/local-status-file';
import type { BackendPhase, Status } from '#crds/kinds/status';

const since = '2026-01-01T00:00:00Z';
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'AllBackendsReady',
  message: '',
  lastTransitionTime: since,
} as const;

function status(
  phase: Status['phase'],
  backend: BackendPhase,
  tools?: number,
  conditions: Status['conditions'] = [ready],
): Status {
  const one = {
    name: 'one',
    url: 'stdio:x',
    phase: backend,
    authType: 'unauthenticated',
    message: '',
    lastTransitionTime: since,
  };
  return {
    phase,
    url: 'http://127.0.0.1:1/mcp',
    conditions,
    backends: [tools === undefined ? one : { ...one, tools }],
  };
}

function localStatus(of: Status, more: Partial<LocalStatus> = {}): LocalStatus {
  const key = { kind: 'VirtualMCPServer', namespace: 'default', name: 'demo' } as const;
  return {
    pid: 1,
    folder: '/f',
    settled: true,
    problems: [],
    processes: [],
    resources: [{ key, status: of, isEndpoint: true }],
    ...more,
  };
}

function output(columns = 200) {
  const written: string[] = [];
  return { written, columns, write: (text: string) => written.push(text) };
}

const context = { typed: (command: string) => `npx vmcp ${command} --state x` };
const stuck = (reason: string) => [{ ...ready, type: 'Waiting', reason }];

describe('nextSteps', () => {
  it('names the excluded backends without waiting for them', () => {
    const partly = localStatus(status('Degraded', 'Excluded'));
    expect(readiness(partly, 0)).toBe('ready');
    expect(nextSteps(partly, context)[0]).toBe('Connect a client to demo, which serves without one:');
    expect(nextSteps(localStatus(status('Ready', 'Ready', 3)), context)[0]).toBe('Connect a client to demo:');
  });
});

describe('suggested commands', () => {
  const crashed = { name: 'mcp-one', state: 'waiting', restarts: 1, lastEnd: 'exited with code 1' } as const;

  it('include the state folder and run as printed', () => {
    const out = output();
    const shown = localStatus(status('Ready', 'Ready', 3), { processes: [crashed] });
    liveTable(out, context)(shown, nextSteps(shown, context));
    const text = out.written.join('');
    expect(text).toContain('npx vmcp logs mcp-one --state x)');
    expect(text).toContain('(npx vmcp connect cursor --write --state x):');
    expect(text).not.toMatch(/(?<!npx )vmcp (logs|connect)/);
  });
});

describe('liveTable', () => {
  it('redraws the table in place', () => {
    const out = output();
    const show = liveTable(out, context);
    show(localStatus(status('Pending', 'Unknown')));
    show(localStatus(status('Ready', 'Ready', 3)));
    const lines = out.written[0]!.trimEnd().split('\n').length;
    expect(out.written[0]).toMatch(/BACKEND +STATE +TOOLS +AUTH +REASON/);
    expect(out.written[1]!.startsWith(`\u001B[${lines + 1}A\u001B[J`)).toBe(true);
    expect(out.written[1]).toMatch(/one +Ready +3 +unauthenticated/);
  });

  it('states that it counts only the tools that every user gets', () => {
    const out = output();
    const one = { ...status('Ready', 'Ready', 3), toolCount: 3 };
    liveTable(out, context)(localStatus(one));
    const [backend] = one.backends ?? [];
    const mixed = [backend!, { ...backend!, name: 'mine', authType: 'upstreamInject', tools: 7 }];
    liveTable(out, context)(localStatus({ ...one, backends: mixed }));
    expect(out.written[0]).toContain('/mcp  3 tools\n');
    expect(out.written[1]).toContain('/mcp  3 tools for everybody, more by user of mine\n');
  });

  it('never wraps a line, because that would break redrawing', () => {
    const out = output(30);
    liveTable(out, context)(localStatus(status('Ready', 'Ready', 3)));
    for (const line of out.written[0]!.replace('\u001B[J', '').split('\n')) expect(line.length).toBeLessThanOrEqual(30);
  });

  it('does not cut lines on a terminal of unknown width', () => {
    const out = output(0);
    liveTable(out, context)(localStatus(status('Ready', 'Ready', 3)));
    expect(out.written.join('')).toContain('http://127.0.0.1:1/mcp\n');
  });
});

describe('plainLines', () => {
  it('prints a line for each new, changed or removed fact', () => {
    const out = output();
    const show = plainLines(out);
    const process = { name: 'mcp-one', state: 'running', restarts: 0 } as const;
    show(localStatus(status('Ready', 'Ready', 3), { processes: [process] }));
    out.written.length = 0;
    show(localStatus(status('Ready', 'Ready', 3), { processes: [process] }));
    expect(out.written).toEqual([]);
    show(localStatus(status('Ready', 'Ready', 4)));
    expect(out.written).toEqual(['demo/one: Ready (4 tools)\n', 'process mcp-one: no longer\n']);
  });
});

describe('showStuck', () => {
  it('prints only the reasons to a file or pipe, and the whole status without reasons', () => {
    const out = output();
    const tell = (conditions: Status['conditions']) => {
      showStuck(localStatus(status('Pending', 'Unknown', 0, conditions)), plainLines(out), { out });
      return out.written.splice(0);
    };
    const missing = {
      ...ready,
      status: 'False',
      reason: 'GroupNotFound',
      message: 'there is no group "tools"',
    } as const;
    expect(tell([missing])).toEqual(['demo: GroupNotFound: there is no group "tools"\n']);
    expect(tell(stuck('GroupNotFound'))).toContain('demo: Pending http://127.0.0.1:1/mcp\n');
  });
});

describe('readiness and stuckCode', () => {
  it.each([
    [
      'not before every resource was worked on once',
      localStatus(status('Ready', 'Ready', 1), { settled: false }),
      0,
      'starting',
    ],
    ['when every backend answers and its tools are counted', localStatus(status('Ready', 'Ready', 1)), 0, 'ready'],
    ['not while a backend was not asked yet', localStatus(status('Ready', 'Unknown')), 60_000, 'starting'],
    ['not while tools are being counted', localStatus(status('Ready', 'Ready')), 0, 'starting'],
    ['after some time without the count', localStatus(status('Ready', 'Ready')), 9000, 'ready'],
    ['not while a backend may still come up', localStatus(status('Degraded', 'Unavailable')), 0, 'starting'],
    [
      'after some time without the backend that does not answer',
      localStatus(status('Degraded', 'Unavailable')),
      11_000,
      'ready',
    ],
    [
      'never when the only server waits for the user',
      localStatus(status('Pending', 'Unknown', 0, stuck('GroupNotFound'))),
      0,
      'stuck',
    ],
    [
      'never when a runtime ends again and again',
      localStatus(status('Pending', 'Unknown'), { processes: [{ name: 'vmcp-demo', state: 'waiting', restarts: 2 }] }),
      0,
      'crashing',
    ],
  ] as const)('returns the state: %s', (_, given, waited, expected) => {
    expect(readiness(given, waited)).toBe(expected);
  });

  it('returns the code for bad input, or for not running if a port is taken', () => {
    expect(stuckCode(localStatus(status('Pending', 'Unknown', 0, stuck('GroupNotFound'))))).toBe(1);
    expect(stuckCode(localStatus(status('Pending', 'Unknown', 0, stuck('PortInUse'))))).toBe(3);
  });
});
