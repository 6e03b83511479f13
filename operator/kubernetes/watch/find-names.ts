/** Names of Secrets and ConfigMaps in an unchecked spec. Secrets have the keys that are read; a ConfigMap is read whole. */
export interface Names {
  secrets: Map<string, Set<string>>;
  configMaps: Map<string, Set<string>>;
}

const CONFIG_MAP_FIELDS = new Set(['configMap', 'configMapRef', 'caBundleRef', 'permissionProfile']);

/** Fields whose references the planner does not read; the kubelet resolves them. */
const FOREIGN_FIELDS = new Set(['podTemplateSpec', 'imagePullSecrets', 'env', 'volumes']);

/** Keys of the Secrets that a field names without a key. */
const KEYS_OF_FIELD: ReadonlyMap<string, readonly string[]> = new Map([['secretRef', ['tls.crt', 'tls.key']]]);

/** RFC 1123 §2.1. No object has another name, and `..` would change a path. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function nameOf(value: object): string | undefined {
  return 'name' in value && typeof value.name === 'string' && NAME.test(value.name) ? value.name : undefined;
}

function keysOf(value: object, field: string): readonly string[] | undefined {
  if ('key' in value) return typeof value.key === 'string' ? [value.key] : [];
  return KEYS_OF_FIELD.get(field);
}

function add(names: Map<string, Set<string>>, name: string, keys: readonly string[]): void {
  const known = names.get(name) ?? new Set();
  for (const key of keys) known.add(key);
  names.set(name, known);
}

function collect(value: unknown, field: string, found: Names): void {
  if (Array.isArray(value)) {
    for (const inside of value) collect(inside, field, found);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const name = nameOf(value);
  if (name !== undefined) {
    const keys = keysOf(value, field);
    if (CONFIG_MAP_FIELDS.has(field)) add(found.configMaps, name, []);
    else if (keys) add(found.secrets, name, keys);
  }
  for (const [key, inside] of Object.entries(value)) if (!FOREIGN_FIELDS.has(key)) collect(inside, key, found);
}

/** Finds the names in a spec by the shape of the references. The operator never reads a Secret that no field names. */
export function findNames(spec: unknown): Names {
  const found: Names = { secrets: new Map(), configMaps: new Map() };
  collect(spec, '', found);
  return found;
}
