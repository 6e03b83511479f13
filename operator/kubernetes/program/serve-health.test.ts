import { afterEach, describe, expect, it } from '@jest/globals';
import { createOperatorMetrics } from './metrics.ts';
import { type Listening, serveHealth, serveMetrics } from './serve-health.ts';

const bindAddress = '127.0.0.1';

describe('health and metrics of the operator', () => {
  const open: Listening[] = [];
  afterEach(async () => {
    for (const each of open.splice(0)) await each.close();
  });
  const get = async ({ port }: Listening, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  };

  it('report healthy at once, and ready when nothing is missing', async () => {
    let missing: string | undefined = 'not all resources are read yet';
    const health = await serveHealth({ bindAddress, healthPort: 0 }, () => missing);
    open.push(health);
    expect(await get(health, '/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await get(health, '/readyz')).toEqual({ status: 503, text: 'not all resources are read yet\n' });
    missing = undefined;
    expect((await get(health, '/readyz?verbose')).status).toBe(200);
    expect((await get(health, '/metrics')).status).toBe(404);
  });

  it('name the flag of a port in use, with the remedy', async () => {
    const health = await serveHealth({ bindAddress, healthPort: 0 }, () => undefined);
    open.push(health);
    const metricsPort = health.port;
    await expect(serveMetrics({ bindAddress, metricsPort }, createOperatorMetrics('1'))).rejects.toThrow(
      `--metrics-port=${metricsPort}: another program listens there: choose another port`,
    );
  });

  it('return the counters, and gauges read at the time of the request', async () => {
    const metrics = createOperatorMetrics('1.2.3');
    const exposed = await serveMetrics({ bindAddress, metricsPort: 0 }, metrics);
    open.push(exposed);
    let depth = 3;
    metrics.watch({ depth: () => depth, isLeader: () => true });
    metrics.requested('apply', 'deployments', 200, 0.02);
    metrics.requested('apply', 'deployments', 200, 0.02);
    metrics.requested('list', 'pods', 429, 0.01);
    metrics.watchRestarted('pods', 'expired');
    metrics.worked('MCPGroup', 'success', 0.004);
    metrics.retried('MCPGroup');
    metrics.waited(0.2);
    const { text } = await get(exposed, '/metrics');
    for (const line of [
      'vmcp_operator_info{version="1.2.3"} 1',
      'vmcp_operator_queue_depth 3',
      'vmcp_operator_leader 1',
      'vmcp_operator_api_requests_total{verb="apply",resource="deployments",code="200"} 2',
      'vmcp_operator_api_requests_total{verb="list",resource="pods",code="429"} 1',
      'vmcp_operator_watch_restarts_total{resource="pods",reason="expired"} 1',
      'vmcp_operator_reconciles_total{kind="MCPGroup",result="success"} 1',
      'vmcp_operator_retries_total{kind="MCPGroup"} 1',
      'vmcp_operator_work_duration_seconds_bucket{le="0.005",kind="MCPGroup"} 1',
      'vmcp_operator_queue_wait_seconds_count 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    depth = 0;
    expect((await get(exposed, '/metrics')).text).toContain('vmcp_operator_queue_depth 0');
  });
});
