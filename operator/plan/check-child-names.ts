import { Stalled } from '../errors.ts';
import { keyText, manifestOf, type ResourceKey, type World } from '../world.ts';
import { childNames } from './child-names.ts';

/** Resources that have children, of one namespace. */
function owners(world: World): ResourceKey[] {
  const { namespace } = world;
  return [
    ...Object.keys(world.virtualMcpServers).map((name): ResourceKey => ({ kind: 'VirtualMCPServer', namespace, name })),
    ...Object.keys(world.mcpServers).map((name): ResourceKey => ({ kind: 'MCPServer', namespace, name })),
  ];
}

const namesOf = (key: ResourceKey, world: World) => childNames(key, manifestOf(key, world)?.spec);

/** Resources that would render a child of the same name. */
export function rivals(key: ResourceKey, world: World): ResourceKey[] {
  const names = new Set(namesOf(key, world));
  return owners(world).filter(
    (other) => keyText(other) !== keyText(key) && namesOf(other, world).some((name) => names.has(name)),
  );
}

/** Order of age; of the same age, or of unknown age, by name. */
function age(key: ResourceKey, world: World): string {
  return `${manifestOf(key, world)?.metadata.creationTimestamp ?? ''} ${keyText(key)}`;
}

/** The older of two rivals keeps its children; the other one has none. Throws `Stalled`. */
export function checkChildNames(key: ResourceKey, world: World): void {
  const older = rivals(key, world).find((other) => age(other, world) < age(key, world));
  if (!older) return;
  const shared = namesOf(key, world).filter((name) => namesOf(older, world).includes(name));
  const message = `${older.kind} "${older.name}" already has the child ${shared.join(', ')}: rename one of the two`;
  throw new Stalled('ChildNameTaken', message);
}
