/** Names of Secrets and ConfigMaps that an unchecked spec refers to. */
export interface Names {
  secrets: Set<string>;
  configMaps: Set<string>;
}

/** Fields below which a name is one of a ConfigMap. */
const CONFIG_MAP_FIELDS = new Set(['configMap', 'configMapRef', 'caBundleRef', 'permissionProfile']);

/** What the plan reads by itself is not in them: the kubelet resolves these references, or nobody does. */
const FOREIGN_FIELDS = new Set(['podTemplateSpec', 'imagePullSecrets', 'env', 'volumes']);

/** Secrets that are named without a key: all of them is meant. */
const WHOLE_SECRET_FIELDS = new Set(['secretRef']);

/** RFC 1123, section 2.1. Whatever else is written names nothing that there can be, and `..` in a path is another path. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function nameOf(value: object): string | undefined {
  return 'name' in value && typeof value.name === 'string' && NAME.test(value.name) ? value.name : undefined;
}

function collect(value: unknown, field: string, found: Names): void {
  if (Array.isArray(value)) {
    for (const inside of value) collect(inside, field, found);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const name = nameOf(value);
  if (name !== undefined) {
    if (CONFIG_MAP_FIELDS.has(field)) found.configMaps.add(name);
    else if ('key' in value || WHOLE_SECRET_FIELDS.has(field)) found.secrets.add(name);
  }
  for (const [key, inside] of Object.entries(value)) if (!FOREIGN_FIELDS.has(key)) collect(inside, key, found);
}

/** What a resource names, by the shape of the references alone: a Secret that no field names is never read. */
export function findNames(spec: unknown): Names {
  const found: Names = { secrets: new Set(), configMaps: new Set() };
  collect(spec, '', found);
  return found;
}
