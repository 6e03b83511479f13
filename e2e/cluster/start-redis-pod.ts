import { IMAGES } from './images.ts';
import type { Cluster } from './use-cluster.ts';

const REDIS = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'redis' },
      spec: {
        selector: { matchLabels: { app: 'redis' } },
        template: {
          metadata: { labels: { app: 'redis' } },
          spec: {
            containers: [
              {
                name: 'redis',
                image: IMAGES.backends,
                command: ['redis-server', '--save', '', '--protected-mode', 'no', '--bind', '*'],
                workingDir: '/tmp',
                readinessProbe: { tcpSocket: { port: 6379 }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'redis' },
      spec: { selector: { app: 'redis' }, ports: [{ port: 6379 }] },
    },
  ],
};

/** Runs a Redis without persistence, as `redis` in a namespace. Returns its address when it listens. */
export async function startRedisPod(cluster: Cluster, namespace: string): Promise<string> {
  const steps: [args: string[], input?: string][] = [
    [['apply', '-f', '-'], JSON.stringify(REDIS)],
    [['rollout', 'status', 'deployment/redis', '--timeout=50s']],
  ];
  for (const [args, input] of steps) {
    const { code, stderr } = await cluster.kubectl(['-n', namespace, ...args], input);
    if (code !== 0) throw new Error(`Redis in ${namespace}: ${stderr}`);
  }
  return `redis.${namespace}.svc:6379`;
}
