import type { Position, Source } from '#local/resource';
import type { FolderContent } from '#local/manifest-folder';
import { readYamlDocuments } from '#local/yaml-documents';
import { keyText, type ResourceKey } from '#operator/snapshot';
import { lineIn, type FilePosition } from './find-left-out.ts';

const FIELD = String.raw`^(?:spec\.)?([\w.]+): `;
const CONFIG_MAP = String.raw`(?:ConfigMap "([^"]+)", key "([^"]+)": )?`;
const POLICY = String.raw`policies\[(\d+)\](?:#\d+)?:? (?:line (\d+), column (\d+) of its text: )?`;
const POLICY_ERROR = new RegExp(FIELD + CONFIG_MAP + POLICY);

type Resources = Pick<FolderContent, 'sources' | 'configMaps'>;

interface PolicyError {
  readonly path: string[];
  readonly configMap: { readonly name: string; readonly key: string } | undefined;
  readonly policy: (string | number)[];
  readonly within: Position;
}

function readPolicyError(message: string): PolicyError | undefined {
  const [whole, path = '', name, key = '', index, line = 1, column = 1] = POLICY_ERROR.exec(message) ?? [];
  if (whole === undefined) return undefined;
  return {
    path: path.split('.'),
    configMap: name === undefined ? undefined : { name, key },
    policy: ['policies', Number(index)],
    within: { line: Number(line), column: Number(column) },
  };
}

/** Falls back to the line of the field that the message names. */
export function placeIn(
  source: Source,
  { namespace }: ResourceKey,
  message: string,
  resources: Resources,
): FilePosition {
  const error = readPolicyError(message);
  const found = error && (error.configMap ? inConfigMap(error, namespace, resources) : inSpec(error, source));
  return found ?? { file: source.file, line: lineIn(source, message) };
}

function inSpec({ path, policy, within }: PolicyError, { file, positionOf }: Source): FilePosition | undefined {
  const found = positionOf?.(['spec', ...path, 'inline', ...policy], within);
  return found && { file, ...found };
}

function inConfigMap(
  { configMap, policy, within }: PolicyError,
  namespace: string,
  { sources, configMaps }: Resources,
): FilePosition | undefined {
  const { name = '', key = '' } = configMap ?? {};
  const owner = sources.get(keyText({ kind: 'ConfigMap', namespace, name }));
  const text = configMaps.get(`${namespace}/${name}`)?.[key] ?? '';
  const inBlock = positionIn(text, policy, within);
  const found = inBlock && owner?.positionOf?.(['data', key], inBlock);
  return owner && found && { file: owner.file, ...found };
}

/** A document's member `cedar` may hold the policies. */
function positionIn(text: string, policy: PolicyError['policy'], within: Position): Position | undefined {
  const [block] = readYamlDocuments({ file: '', text }).documents;
  return block?.positionOf(policy, within) ?? block?.positionOf(['cedar', ...policy], within);
}
