import { describe, expect, it } from '@jest/globals';
import { type Findings, missedTargets, renderReport } from './report.ts';

const usage = (peak: number) => ({ now: peak - 1e6, peak });
const requests = { 'PATCH configmaps 200': 1 };

function findings(p50: number, peak: number, writes: number, atRest = 90e6): Findings {
  return {
    ...{ servers: 10, backends: 50, groups: 2, busy: 0, created: { count: 62, seconds: 1 } },
    cold: { seconds: 2, cpu: 1, apiServerCpu: 1, memory: usage(peak), requests },
    warm: { seconds: 1, cpu: 1, writes, memory: usage(90e6) },
    idle: { cpu: 0, memory: { now: atRest, peak } },
    edits: { count: 10, p50, p99: 2 * p50, requests },
    rotation: { servers: 5, seconds: 1, cpu: 1, writes: 5 },
    plain: { writes: 20, seconds: 1, cpu: 1, apiServerCpu: 1 },
  };
}

describe('missedTargets', () => {
  it('names each missed target: memory at rest at the smallest size, the others at the largest', () => {
    const sizes = [findings(10, 90e6, 0, 106e6), findings(151, 310e6, 3)];
    expect(missedTargets(sizes)).toEqual([
      'missed: edit to applied child, p50: 151 ms, and the target is < 150 ms',
      'missed: resident memory, peak: 310 MB, and the target is < 300 MB',
      'missed: writes of a start where all stands already: 3, and the target is 0',
      'missed: resident memory at rest, 10 servers and 50 backends: 101 MiB, and the target is < 100 MiB',
    ]);
    expect(renderReport(sizes, '').match(/\*\*missed\*\*/g)).toHaveLength(4);
  });

  it('does not report a target that is met', () => {
    const sizes = [findings(200, 90e6, 0, 104e6), findings(149, 299e6, 0, 290e6)];
    expect(missedTargets(sizes)).toEqual([]);
    expect(renderReport(sizes, '')).toContain('| edit to applied child, p50 | < 150 ms | 149 ms | met |');
  });
});
