import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server } from '../local/manifests.ts';
import { ROOT } from '../local/run-vmcp.ts';
import { type RunningApi, useApi } from '../management/use-api.ts';
import { describeWithRegistry, type OciRegistry, serveOci, TGZ } from '../skills/serve-oci.ts';
import { makeSigstore, type Sigstore } from './make-sigstore.ts';
import { signSimply, storeByTag } from './sign-image.ts';

const ISSUER = 'https://accounts.example.com';
const IDENTITY = 'https://people.example.com/alice';
const MINUTES = 240_000;
const Listed = z.object({ workloads: z.array(z.looseObject({ name: z.string(), status_context: z.string() })) });

describeWithRegistry('vmcp run <entry> with provenance', () => {
  let folder: string;
  let registry: OciRegistry;
  let sigstore: Sigstore;
  let api: RunningApi;
  let image: string;
  let digest: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'vmcp-signed-'));
    registry = await serveOci();
    sigstore = await makeSigstore();
    writeFileSync(join(folder, 'tuf-repo-cdn.sigstore.dev.json'), sigstore.trustedRoot);
    // Replaces a container engine: records its arguments, and is the server.
    const program = join(ROOT, 'e2e/cli/testdata/tell-secret.ts');
    const script = `#!/bin/sh\n[ "$1" = run ] || exit 0\necho "$*" >>'${folder}/calls'\nexec '${process.execPath}' '${program}'\n`;
    writeFileSync(join(folder, 'podman'), script);
    chmodSync(join(folder, 'podman'), 0o755);
    digest = await registry.push('o/server', 'v1', [{ bytes: Buffer.from('an image'), type: TGZ }]);
    image = `${registry.host}/o/server:v1`;
    const provenance = { cert_issuer: ISSUER, signer_identity: IDENTITY };
    const content = { servers: { signed: { image, transport: 'stdio', provenance } } };
    writeFileSync(join(folder, 'servers.txt'), JSON.stringify(content));
    api = await useApi(
      { 'server.yaml': server('demo', await findFreePort()) },
      { PATH: `${folder}:${process.env.PATH ?? ''}`, VMCP_SIGSTORE_ROOTS: folder },
    );
    const settings = { local_path: join(folder, 'servers.txt'), allow_private_ip: true };
    const set = await api.call('PUT', '/registry/default', settings);
    if (!set.ok) throw new Error(await set.text());
  }, MINUTES);
  afterAll(async () => {
    await api.close();
    await registry.close();
    rmSync(folder, { recursive: true });
  });

  const vmcp = (...args: string[]) => api.place.run(args, { HOME: api.place.path });
  const sign = async (identity: string) =>
    storeByTag(registry, { repository: 'o/server', digest }, [
      await signSimply(digest, await sigstore.certify({ identity, issuer: ISSUER }), sigstore),
    ]);

  it(
    'runs no image of another signer, and runs one of the right signer by its digest, as verified',
    async () => {
      await sign('https://people.example.com/mallory');
      const refused = await vmcp('run', 'signed', '--timeout', '100s');
      expect([refused.code, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('mallory')]);
      expect([refused.code === 0, (await api.call('GET', '/workloads/signed')).status]).toEqual([false, 404]);

      await sign(IDENTITY);
      const { code, stderr } = await vmcp('run', 'signed', '--timeout', '100s');
      expect([code, stderr]).toEqual([0, expect.stringContaining(`verified: ${IDENTITY}`)]);
      expect(readFileSync(join(folder, 'calls'), 'utf8')).toMatch(new RegExp(` ${image}@${digest}\n`));
      const { workloads } = Listed.parse(await (await api.call('GET', '/workloads')).json());
      expect(workloads).toMatchObject([
        {
          name: 'signed',
          status: 'running',
          status_context: `Its image is verified: ${IDENTITY} (${ISSUER}) signed ${digest}.`,
        },
      ]);
      const { stdout } = await vmcp('list');
      expect(stdout).toContain(`Its image is verified: ${IDENTITY}`);
    },
    MINUTES,
  );
});
