import type { ProxySettings } from '#lib/connections/proxy';
import { PRIVATE_OFF } from '../fetching/check-target.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { createHttpClient } from '../fetching/http-client.ts';
import { OciRepository } from '../fetching/oci-repository.ts';
import { Problem } from '../problem.ts';
import type { ImageServer, Provenance } from '../records/registry-entry.ts';
import { DEFAULT, type Registries } from '../registries/registries.ts';
import { serversOf } from '../registries/render-registry.ts';
import type { CheckedImage } from './checked-image.ts';
import type { CheckLimit } from './limit-checks.ts';
import { readImage, type ImageName } from './read-image.ts';
import type { TrustRoots, TrustRootsOptions } from './trust-roots.ts';

/** Environment variable of the commands for the folder of roots; the operator has a flag. */
export const ROOTS_VARIABLE = 'VMCP_SIGSTORE_ROOTS';

/** Opens the roots at the first check, because the verifier is large and few processes need it. */
export function openRoots(
  options: TrustRootsOptions,
  load = () => import('./trust-roots.ts'),
): () => Promise<TrustRoots> {
  let opened: Promise<TrustRoots> | undefined;
  const open = async (): Promise<TrustRoots> => new (await load()).TrustRoots(options);
  const forget = (error: unknown): never => {
    opened = undefined;
    throw error;
  };
  return () => (opened ??= open().catch(forget));
}

export interface ImageProvenanceOptions {
  roots: () => Promise<TrustRoots>;
  /** Shared by the whole process, like its memory. */
  limit: CheckLimit;
  registries: Pick<Registries, 'get' | 'callsPrivate'>;
  /** Whether records may allow private addresses; decides the remedy in the message. */
  privateAddresses: boolean;
  proxy: ProxySettings | undefined;
  /** Milliseconds for the whole check. */
  deadline?: number;
}

const DEADLINE = 30_000;

interface Asking {
  caller: { name: string };
  signal: AbortSignal;
}

/** Verifies the signatures of images whose signers the registry of a namespace declares. */
export class ImageProvenance {
  readonly #in: ImageProvenanceOptions;

  constructor(options: ImageProvenanceOptions) {
    this.#in = options;
  }

  /** Returns undefined if no signer is declared. @throws Problem `bad_request`, `image_refused`, `too_many_requests`, `unavailable` */
  async check(entryName: string, image: string | undefined, asking: Asking): Promise<CheckedImage | undefined> {
    const { caller, signal: gone } = asking;
    const entry = await this.#entry(entryName);
    if (entry.provenance === undefined || image === undefined) return undefined;
    if (image !== entry.image)
      throw new Problem(
        'bad_request',
        `body image: the entry "${entryName}" has another one; write it, or leave registry_entry out`,
      );
    const place = readImage(image);
    if (!place) return undefined;
    const signal = AbortSignal.any([gone, AbortSignal.timeout(this.#in.deadline ?? DEADLINE)]);
    const { provenance } = entry;
    const checked = await this.#in.limit(caller.name, () => this.#look(provenance, image, place, signal));
    gone.throwIfAborted();
    return checked;
  }

  async #entry(name: string): Promise<ImageServer> {
    const { registry } = await this.#in.registries.get(DEFAULT);
    const entry = serversOf(registry.registry).get(name);
    if (entry) return entry;
    throw new Problem('bad_request', `body registry_entry: the registry "${DEFAULT}" has no image server "${name}"`);
  }

  async #look(provenance: Provenance, image: string, place: ImageName, signal: AbortSignal): Promise<CheckedImage> {
    const { privateAddresses, proxy } = this.#in;
    const http = createHttpClient({
      allowPrivateAddress: await this.#in.registries.callsPrivate(),
      remedy: privateAddresses ? 'set allow_private_ip of the registry to allow it' : PRIVATE_OFF,
      proxy,
    });
    try {
      const { checkSignatures } = await import('./check-signatures.ts');
      const repository = new OciRepository(place.registry, place.repository, http, signal);
      return await checkSignatures({ provenance, image, place, repository, roots: await this.#in.roots(), signal });
    } catch (error) {
      if (error instanceof FetchFailure) return { result: 'unchecked', image, reason: error.message };
      throw error;
    } finally {
      await http.close();
    }
  }
}
