import { Problem } from '../problem.ts';
import { type Field, type Fields, recorded, same } from './field.ts';

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
