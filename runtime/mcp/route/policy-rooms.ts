import type { Rooms } from '#runtime/rooms';
import type { Backend } from '../backends/backend.ts';

/** Services that decide who may see and call an entry. */
export interface PolicyRooms extends Pick<Rooms, 'authorizer'> {
  readonly config: Pick<Rooms['config'], 'authz'>;
  readonly backends: {
    readonly all: readonly Pick<Backend, 'name' | 'credential' | 'authorizer'>[];
    get(name: string): Pick<Backend, 'authorizer'> | undefined;
  };
}
