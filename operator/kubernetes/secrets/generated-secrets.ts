import { sealingOf } from '#operator/plan/child-names';
import { applyChild, type ApplyContext, checkOwner } from '../apply/apply-child.ts';
import type { KubeObject, ObjectMeta } from '../api/object.ts';
import type { OwnSecrets } from './own-secrets.ts';

const SEALING = 'sealing';
const STATUS_TOKENS = 'status-token';

/** Milliseconds after which a server gets a new /status token. The previous token stays valid until the next replacement. */
const TOKEN_AGE = 7 * 24 * 3600 * 1000;

export interface RuntimeSecrets {
  /** Time of the next rotation. Milliseconds since the epoch. */
  rotateAt: number;
  sealing: string;
  /** Tokens for /status, the newest first. */
  tokens: string[];
}

interface MakeOptions {
  secrets: OwnSecrets;
  context: ApplyContext;
  /** Milliseconds since the epoch. */
  now: number;
  /** Returns 32 random bytes as text. */
  random: () => string;
}

const decode = (text: unknown) => Buffer.from(typeof text === 'string' ? text : '', 'base64').toString();
const encode = (text: string) => Buffer.from(text).toString('base64');

type Values = Omit<RuntimeSecrets, 'rotateAt'>;

function valuesOf(secret: KubeObject | undefined): Values | undefined {
  const data = secret?.data as Record<string, string> | undefined;
  const tokens = decode(data?.[STATUS_TOKENS]).split('\n');
  const sealing = decode(data?.[SEALING]);
  return sealing === '' || tokens[0] === '' ? undefined : { sealing, tokens };
}

const madeAnnotation = (apiGroup: string) => `${apiGroup}/status-token-made`;

function rotated(standing: Values | undefined, madeAt: number, { now, random }: MakeOptions): Values {
  if (!standing) return { sealing: random(), tokens: [random()] };
  // An unreadable time counts as long ago.
  if (now - madeAt < TOKEN_AGE) return standing;
  return { ...standing, tokens: [random(), ...standing.tokens.slice(0, 1)] };
}

/** Generates a runtime's secrets once. `metadata`: of an object of its resource. @throws Stalled for a foreign Secret; Waiting; ApiError */
export async function makeSecrets(child: string, metadata: ObjectMeta, options: MakeOptions): Promise<RuntimeSecrets> {
  const { secrets, context, now } = options;
  const annotation = madeAnnotation(context.apiGroup);
  const name = sealingOf(child);
  const standing = await secrets.read(metadata.namespace ?? '', name);
  const desired: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name } };
  if (standing) checkOwner(standing, desired);
  const values = valuesOf(standing);
  const written = standing?.metadata.annotations?.[annotation] ?? '';
  const made = rotated(values, Date.parse(written) || 0, options);
  const at = made === values ? written : new Date(now).toISOString();
  await applyChild(
    {
      ...desired,
      metadata: { ...desired.metadata, annotations: { [annotation]: at } },
      type: 'Opaque',
      data: { [SEALING]: encode(made.sealing), [STATUS_TOKENS]: encode(made.tokens.join('\n')) },
    },
    context,
    { rotated: values !== undefined && made !== values },
  );
  return { ...made, rotateAt: (Date.parse(at) || now) + TOKEN_AGE };
}
