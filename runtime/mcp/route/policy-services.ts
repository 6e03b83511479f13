import type { Services } from '#runtime/services';
import type { Backend } from '../backends/backend.ts';

export interface PolicyServices extends Pick<Services, 'authorizer'> {
  readonly config: Pick<Services['config'], 'authz'>;
  readonly backends: {
    readonly all: readonly Pick<Backend, 'name' | 'credential' | 'authorizer'>[];
    get(name: string): Pick<Backend, 'authorizer'> | undefined;
  };
}
