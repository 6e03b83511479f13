import { IMAGES } from './images.ts';
import type { Stage } from './stage.ts';

const NAME = 'company';
const PORT = 4480;

/**
 * Runs an OpenID provider in a pod of a stage. Returns its issuer, an address of the cluster that pods and this machine
 * can reach.
 */
export async function startIdentityProvider(stage: Stage, redirectUris: readonly string[]): Promise<string> {
  await stage.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: NAME },
    spec: { selector: { app: NAME }, ports: [{ port: PORT }] },
  });
  const service = await stage.get('Service', NAME);
  const { clusterIP = '' } = (service?.spec ?? {}) as { clusterIP?: string };
  const issuer = `http://${clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP}:${PORT}`;
  const redirects = redirectUris.flatMap((uri) => ['--redirect-uri', uri]);
  const container = {
    name: NAME,
    image: IMAGES.backends,
    command: [
      'node',
      '/app/e2e/fakes/identity-provider/main.ts',
      '--port',
      `${PORT}`,
      '--issuer',
      issuer,
      ...redirects,
    ],
    readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
  };
  await stage.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME },
    spec: {
      selector: { matchLabels: { app: NAME } },
      template: { metadata: { labels: { app: NAME } }, spec: { containers: [container] } },
    },
  });
  const rollout = ['-n', stage.namespace.name, 'rollout', 'status', `deployment/${NAME}`, '--timeout=55s'];
  const { code, stderr } = await stage.cluster.kubectl(rollout);
  if (code !== 0) throw new Error(`the identity provider: ${stderr}`);
  return issuer;
}
