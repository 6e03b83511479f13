import { randomBytes } from 'node:crypto';
import { isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { SECRETS } from '../api/resources.ts';

const NAME = 'vmcp-operator-digest-key';
const FIELD = 'key';

function valueOf(secret: KubeObject): string {
  const data = secret.data as Record<string, string> | undefined;
  const value = Buffer.from(data?.[FIELD] ?? '', 'base64').toString();
  if (value !== '') return value;
  throw new Error(`Secret "${NAME}" has no "${FIELD}": delete it, and the operator makes another one`);
}

/** Returns the HMAC key for file names, created at the first call: another key would rename every file. @throws ApiError */
export async function readDigestKey(api: KubeApi, namespace: string): Promise<string> {
  const find = async () => valueOf(await api.get(SECRETS, { namespace, name: NAME }));
  try {
    return await find();
  } catch (problem) {
    if (!isStatus(problem, 404)) throw problem;
  }
  const key = randomBytes(32).toString('base64url');
  const metadata = { namespace, name: NAME, labels: { 'app.kubernetes.io/part-of': 'vmcp' } };
  try {
    await api.create(SECRETS, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      type: 'Opaque',
      stringData: { [FIELD]: key },
    });
    return key;
  } catch (problem) {
    // Another replica was faster.
    if (!isStatus(problem, 409)) throw problem;
    return find();
  }
}
