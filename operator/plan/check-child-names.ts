import { Stalled } from '../errors.ts';
import { keyText, manifestOf, type ResourceKey, type World } from '../world.ts';
import { childNames } from './child-names.ts';
import { resourcesWithChild } from './resource-index.ts';

const namesOf = (key: ResourceKey, world: World) => childNames(key, manifestOf(key, world)?.spec);

/** Resources that would render a child of the same name. */
export function rivals(key: ResourceKey, world: World): ResourceKey[] {
  const found = new Map<string, ResourceKey>();
  for (const child of namesOf(key, world)) {
    for (const resources of [world.virtualMcpServers, world.mcpServers]) {
      for (const { kind, metadata } of resourcesWithChild(resources, child)) {
        const other: ResourceKey = { kind, namespace: world.namespace, name: metadata.name };
        if (keyText(other) !== keyText(key)) found.set(keyText(other), other);
      }
    }
  }
  return [...found.values()];
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
