import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { BackendCall } from '#runtime/mcp/backends/backend';
import { valueAt, type ModernMessage } from './modern-message.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The `requestState` of a bridged call that waits for input. */
const RequestState = z.object({
  /** Id of the parked call. Absent: the client's answer leads to a new call. */
  call: z.string().optional(),
  round: z.number(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
});
export type RequestState = z.infer<typeof RequestState>;

/** Names the only call that may use a state: a retry of the same request by the same principal. */
export function bindingOf({ identity, method }: BackendCall, backend: string, { body, spans }: ModernMessage): string {
  const target = ['params.name', 'params.uri', 'params.arguments'] as const;
  const hash = createHash('sha256').update(JSON.stringify(target.map((path) => valueAt(body, spans[path]) ?? null)));
  return JSON.stringify([identity.key, backend, method, hash.digest('base64url')]);
}

export interface StateSeal {
  /** `binding`: as `bindingOf` returns it. */
  seal(state: RequestState, binding: string): string;
  /** Returns undefined if the text was not sealed for this call. */
  open(text: string, binding: string): RequestState | undefined;
}

/** Padding and added characters decode to the same bytes. */
function isCanonical(text: string): boolean {
  return Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** Seals states with the secret of shared sessions, so that another replica can tell a lost call from a forged state. */
export function sharedSeal(ring: SecretRing, server: string): StateSeal {
  const aadOf = (binding: string) => `request-state|${server}|${binding}`;
  return {
    seal: (state, binding) => ring.seal(JSON.stringify(state), aadOf(binding)),
    open(text, binding) {
      if (!text.split('.').every(isCanonical)) return undefined;
      try {
        return RequestState.parse(JSON.parse(ring.open(text, aadOf(binding)).plain));
      } catch {
        return undefined;
      }
    },
  };
}

/** Seals states with AES-256-GCM under a key of this process. */
export class OwnSeal implements StateSeal {
  readonly #key = randomBytes(32);

  seal(state: RequestState, binding: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(binding));
    const text = [cipher.update(JSON.stringify(state)), cipher.final()];
    return Buffer.concat([iv, ...text, cipher.getAuthTag()]).toString('base64url');
  }

  open(text: string, binding: string): RequestState | undefined {
    const sealed = Buffer.from(text, 'base64url');
    if (!isCanonical(text) || sealed.length < IV_BYTES + TAG_BYTES) return undefined;
    const tagAt = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(binding))
      .setAuthTag(sealed.subarray(tagAt));
    try {
      const plain = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, tagAt)), decipher.final()]);
      return RequestState.parse(JSON.parse(plain.toString('utf8')));
    } catch {
      return undefined;
    }
  }
}
