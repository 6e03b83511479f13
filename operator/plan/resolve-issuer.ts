import { MCPOIDCConfig } from '#crds/kinds/index';
import type { IncomingAuth } from '#crds/parts/incoming-auth';
import {
  InlineOidc,
  KubernetesOidc,
  secureUrl,
  type SharedKubernetesOidc,
  type SharedOidc,
} from '#crds/parts/oidc-config';
import { Stalled, Waiting } from '../errors.ts';
import type { Snapshot } from '../snapshot.ts';
import type { KeyReference } from './file-list.ts';
import { type Read, readBlock, readConfigMapBlock } from './read-config-map-block.ts';
import { readSpec } from './read-resource.ts';

interface Asked {
  place: string;
  audience?: string | undefined;
  scopes?: string[] | undefined;
}

export type ResolvedIssuer = Asked &
  ({ type: 'inline'; block: SharedOidc } | { type: 'kubernetes'; block: SharedKubernetesOidc });

function inlineIssuer({ audience, scopes, ...block }: InlineOidc, place: string): ResolvedIssuer {
  return { type: 'inline', place, block, audience, scopes };
}

function sharedIssuer(reference: NonNullable<IncomingAuth['oidcConfigRef']>, snapshot: Snapshot): ResolvedIssuer {
  const manifest = snapshot.mcpOidcConfigs[reference.name];
  if (!manifest) {
    const message = `incomingAuth.oidcConfigRef names MCPOIDCConfig "${reference.name}", which does not exist: create it`;
    throw new Waiting('OidcConfigNotFound', message);
  }
  const { inline, kubernetesServiceAccount } = readSpec(MCPOIDCConfig, manifest);
  const place = `MCPOIDCConfig "${reference.name}" inline`;
  const asked = { place, audience: reference.audience, scopes: reference.scopes };
  if (inline) return { type: 'inline', block: inline, ...asked };
  return { type: 'kubernetes', block: kubernetesServiceAccount ?? { useClusterAuth: true }, ...asked };
}

function issuerOfConfigMap(reference: KeyReference, snapshot: Snapshot): ResolvedIssuer {
  const field = 'incomingAuth.oidcConfig.configMap';
  const inline = readConfigMapBlock(readIssuer, reference, field, 'InvalidIncomingAuth', snapshot);
  return inlineIssuer(inline, `ConfigMap "${reference.name}", key "${reference.key}"`);
}

/** @throws Waiting for missing references; Stalled for invalid settings */
export function resolveIssuer(
  auth: Pick<IncomingAuth, 'oidcConfig' | 'oidcConfigRef'>,
  snapshot: Snapshot,
): ResolvedIssuer {
  if (auth.oidcConfigRef) return sharedIssuer(auth.oidcConfigRef, snapshot);
  const config = auth.oidcConfig;
  if (config?.configMap) return issuerOfConfigMap(config.configMap, snapshot);
  if (config?.inline) return inlineIssuer(config.inline, 'incomingAuth.oidcConfig.inline');
  if (config?.type !== 'kubernetes') {
    throw new Stalled('InvalidIncomingAuth', 'incomingAuth.type oidc needs oidcConfig or oidcConfigRef: write one');
  }
  const { audience, ...block } = KubernetesOidc.parse(config.kubernetes ?? {});
  return { type: 'kubernetes', place: 'incomingAuth.oidcConfig.kubernetes', block, audience };
}

/** References need the right to their targets. The API server checks this for the writer of a resource, not of a ConfigMap. */
const REFERENCES = ['clientSecretRef', 'caBundleRef'] as const;

/** Reads an issuer from a ConfigMap's text. Rejects http outside of loopback here, as the resource's schema does not see a ConfigMap. */
export function readIssuer(text: string): Read<InlineOidc> {
  const read = readBlock(InlineOidc, text);
  if ('problems' in read) return read;
  const secure = secureUrl(['issuer'], ['insecureAllowHTTP']);
  if (!secure.holds(read.data)) return { problems: [`issuer: ${secure.message}`] };
  const referring = REFERENCES.find((name) => read.data[name] !== undefined);
  if (referring === undefined) return read;
  return { problems: [`${referring}: a ConfigMap refers to nothing: write the issuer in oidcConfig.inline`] };
}
