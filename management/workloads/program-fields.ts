import { transportOf } from '#crds/kinds/index';
import { Problem } from '../problem.ts';
import { type Field, type Fields, portField, recorded, same } from './field.ts';
import { readReference, referenceText } from './secret-reference.ts';
import { list, mapping, orNothing, type Spec } from './spec.ts';

/** Keeps the parts of an unchanged entry that the record lacks. */
function kept(written: unknown, field: string, wanted: Record<string, unknown>): Record<string, unknown> {
  const former = list(written).map(mapping);
  return { ...former.find((entry) => entry[field] === wanted[field]), ...wanted };
}

const VOLUME = /^(\/[^:]*):(\/[^:]*?)(?::(ro|rw))?$/;

const volumeText = ({ hostPath, mountPath, readOnly }: NonNullable<Spec['volumes']>[number]): string =>
  `${hostPath}:${mountPath}${readOnly ? ':ro' : ''}`;

/** Keeps the name of a volume; a new volume gets the next unused name. */
function writeVolumes(texts: readonly string[], written: unknown): Record<string, unknown>[] {
  const former = list(written).map(mapping);
  const taken = new Set(former.map(({ name }) => name));
  return texts.map((text, index) => {
    const [, hostPath, mountPath, mode] = VOLUME.exec(text) ?? [];
    if (hostPath === undefined || mountPath === undefined)
      throw new Problem(
        'bad_request',
        `body volumes[${index}]: write /folder/here:/folder/there, and :ro to read only`,
      );
    const readOnly = mode === 'ro';
    const is = (entry: Record<string, unknown>) => entry.hostPath === hostPath && entry.mountPath === mountPath;
    const known = former.find((entry) => is(entry) && (entry.readOnly ?? false) === readOnly);
    if (known) return known;
    let number = 1;
    while (taken.has(`volume-${number}`)) number += 1;
    taken.add(`volume-${number}`);
    return { name: `volume-${number}`, hostPath, mountPath, ...(readOnly && { readOnly }) };
  });
}

export const PROGRAM_FIELDS: Fields<
  | 'image'
  | 'command'
  | 'url'
  | 'group'
  | 'transport'
  | 'target_port'
  | 'stdio_process'
  | 'cmd_arguments'
  | 'env_vars'
  | 'secrets'
  | 'volumes'
> = {
  image: same('image'),
  command: same('command'),
  url: same('remoteUrl'),
  group: same('groupRef'),
  transport: { read: transportOf, write: (transport) => ({ spec: { transport } }) },
  target_port: portField('mcpPort'),
  stdio_process: {
    read: ({ stdioProcess }) => (stdioProcess === 'perSession' ? stdioProcess : undefined),
    write: (stdioProcess) => ({ spec: { stdioProcess } }),
  },
  cmd_arguments: same('args'),
  env_vars: {
    read: ({ env }) => orNothing(Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))),
    write: (value = {}, { env }) => {
      const entries = Object.entries(value).map(([name, text]) => kept(env, 'name', { name, value: text }));
      return { spec: { env: orNothing(entries) } };
    },
  },
  secrets: {
    read: ({ secrets }) =>
      orNothing(
        (secrets ?? []).map(({ targetEnvName, ...reference }) => ({
          name: referenceText(reference),
          target: targetEnvName ?? reference.key,
        })),
      ),
    write: (value = []) => {
      const entries = value.map(({ name: text, target }, index) => {
        const reference = readReference(text, `secrets[${index}].name`);
        return { ...reference, ...(target && target !== reference.key && { targetEnvName: target }) };
      });
      return { spec: { secrets: orNothing(entries) } };
    },
  },
  volumes: {
    read: ({ volumes }) => orNothing((volumes ?? []).map(volumeText)),
    write: (value = [], written) => ({ spec: { volumes: orNothing(writeVolumes(value, written.volumes)) } }),
  },
};

/** @throws Problem `path_not_available` */
function ofMachine<T>(name: string, field: Field<T>): Field<T> {
  return {
    read: (spec, options) => field.read(spec, options),
    write(value, written, options) {
      if (value === undefined || options.hasPaths) return field.write(value, written, options);
      throw new Problem('path_not_available', `body ${name}: it is about files of one machine; leave it out`);
    },
  };
}

export const ENGINE_FIELDS: Fields<
  | 'publish'
  | 'allow_docker_gateway'
  | 'env_file_dir'
  | 'debug'
  | 'registry_url'
  | 'registry_api_url'
  | 'runtime_config'
  | 'container_name'
  | 'container_labels'
  | 'ignore_config'
> = {
  publish: same('publish'),
  allow_docker_gateway: same('allowDockerGateway'),
  env_file_dir: ofMachine('env_file_dir', same('envFileDir')),
  debug: same('debug'),
  registry_url: recorded('registry_url'),
  registry_api_url: recorded('registry_api_url'),
  runtime_config: recorded('runtime_config'),
  container_name: recorded('container_name'),
  container_labels: recorded('container_labels'),
  ignore_config: ofMachine('ignore_config', recorded('ignore_config')),
};
